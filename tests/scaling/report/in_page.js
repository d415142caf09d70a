// What the tests ask a page of the report. Each function gives plain values.
(() => {
  const channel = (part) => {
    const value = part / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  };
  // WCAG 2.2, relative luminance and contrast ratio.
  const luminance = ([red, green, blue]) =>
    0.2126 * channel(red) + 0.7152 * channel(green) + 0.0722 * channel(blue);
  const contrast = (one, other) => {
    const [high, low] = [luminance(one), luminance(other)].sort((a, b) => b - a);
    return (high + 0.05) / (low + 0.05);
  };
  const parts = (colour) => {
    const found = colour.match(/[\d.]+/g).map(Number);
    return { rgb: found.slice(0, 3), alpha: found.length > 3 ? found[3] : 1 };
  };
  const over = (top, below) =>
    top.rgb.map((part, index) => part * top.alpha + below[index] * (1 - top.alpha));
  const ground = (element) => {
    if (element === null) return [255, 255, 255];
    const own = parts(getComputedStyle(element).backgroundColor);
    return own.alpha === 1 ? own.rgb : over(own, ground(element.parentElement));
  };
  const opacity = (element) =>
    element === null
      ? 1
      : Number(getComputedStyle(element).opacity) * opacity(element.parentElement);
  const ratio = (element, property) => {
    const below = ground(element);
    const own = parts(getComputedStyle(element)[property]);
    own.alpha *= opacity(element);
    return contrast(over(own, below), below);
  };
  const shown = (element) => element.getClientRects().length > 0;

  // Each text with its contrast.
  const texts = () => {
    const found = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const text = walker.currentNode.data.trim();
      const element = walker.currentNode.parentElement;
      const silent = ["title", "desc"].includes(element.localName);
      if (!text || silent || !shown(element)) continue;
      found.push([text, ratio(element, element.ownerSVGElement ? "fill" : "color")]);
    }
    return found;
  };

  // Each line and marker of a chart with its contrast.
  const lines = () =>
    [...document.querySelectorAll(".line, .bar, .ideal, .axis, .mark")]
      .filter(shown)
      .map((one) => [
        one.getAttribute("class"),
        ratio(one, one.classList.contains("mark") ? "fill" : "stroke"),
      ]);

  // Texts of a chart that leave it, or lie on each other.
  const crowded = () => {
    const found = [];
    for (const chart of [...document.querySelectorAll("figure > svg")].filter(shown)) {
      const whole = chart.getBoundingClientRect();
      const boxes = [...chart.querySelectorAll("text")].map((text) => [
        text.textContent, text.getBoundingClientRect(),
      ]);
      boxes.forEach(([name, box], index) => {
        if (box.left < whole.left - 1 || box.right > whole.right + 1 ||
            box.top < whole.top - 1 || box.bottom > whole.bottom + 1) found.push(name);
        for (const [other, there] of boxes.slice(index + 1)) {
          if (box.left < there.right && there.left < box.right &&
              box.top + 2 < there.bottom && there.top + 2 < box.bottom)
            found.push(`${name} on ${other}`);
        }
      });
    }
    return found;
  };

  // What reaches over the window's right edge and is in no box that scrolls by itself.
  const wide = () =>
    [...document.querySelectorAll("body *")]
      .filter((one) => shown(one) && !one.closest(".box"))
      .filter((one) => one.getBoundingClientRect().right > innerWidth + 0.5)
      .map((one) => `${one.localName}.${one.getAttribute("class")}`);

  const openAll = () =>
    document.querySelectorAll("details").forEach((one) => one.setAttribute("open", ""));

  // A word at the first and at the last corner of each block that must not be cut; they take no
  // room. Gives how many there are.
  const corners = () => {
    const blocks = document.querySelectorAll("li, tr, figure, dt, dd");
    blocks.forEach((block, number) => {
      block.style.position = "relative";
      for (const [name, edge] of [["begin", "top"], ["end", "bottom"]]) {
        const word = document.createElement("span");
        word.textContent = `${name}${number}`;
        word.style.position = "absolute";
        word.style.font = "3px sans-serif";
        word.style.left = "0";
        word.style.whiteSpace = "nowrap";
        word.style[edge] = "0";
        block.append(word);
      }
    });
    return blocks.length;
  };

  return { texts, lines, crowded, wide, openAll, corners };
})()
