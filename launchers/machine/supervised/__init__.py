"""Jobs that a process of this machine owns: its supervisor starts them, keeps their lines and says
how they ended. Knows no provider; those whose jobs are such inherit from here."""
