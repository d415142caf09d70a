"""What is made around the product: environments, images, tables. Never imported by it."""
