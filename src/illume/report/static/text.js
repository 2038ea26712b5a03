// Helpers that all modules share: elements made of text only, and numbers as text.

const SVG = "http://www.w3.org/2000/svg";

/** Make an element; children are elements or text, never HTML. */
export function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "class") element.className = value;
    else if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value !== null && value !== undefined) element.setAttribute(key, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** Make an SVG element. */
export function draw(name, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

/** What finds elements by id below a root: a document, an element or a shadow root. */
export const finder = (root) => (id) => root.querySelector(`#${id}`);

/** A number of the data as short text. */
export function shortNumber(number) {
  if (Number.isNaN(number)) return "(missing)";
  if (!Number.isFinite(number)) return number > 0 ? "∞" : "−∞";
  const size = Math.abs(number);
  if (Number.isInteger(number) && size < 1e15) return String(number).replace("-", "−");
  const text = size >= 1000 && size < 1e15 ? number.toFixed(size < 1e4 ? 1 : 0) : String(Number(number.toPrecision(4)));
  return text.replace("-", "−");
}

/** How many decimals a column of numbers needs to be aligned. */
export function decimalsOf(numbers) {
  const sizes = Array.from(numbers).filter((number) => Number.isFinite(number) && number !== 0).map(Math.abs);
  if (sizes.every(Number.isInteger)) return 0;
  sizes.sort((a, b) => a - b);
  const middle = sizes[Math.floor(sizes.length / 2)];
  const most = Math.min(Math.max(3 - Math.floor(Math.log10(middle)), 0), 6);
  const given = sizes.map((size) => (shortNumber(size).split(".")[1] || "").replace(/e.*/, "").length);
  return given.reduce((needed, one) => Math.max(needed, Math.min(one, most)), 0);
}

/** A number with a fixed count of decimals, unless it would be rounded to zero. */
export function alignNumber(number, decimals) {
  const hidden = number !== 0 && Math.abs(number) < 0.5 * 10 ** -decimals;
  if (!Number.isFinite(number) || hidden || Math.abs(number) >= 1e15) return shortNumber(number);
  return number.toFixed(decimals).replace("-", "−");
}

/** A contribution, with its sign. */
export function formatSigned(number, digits = 3) {
  const text = Math.abs(number).toFixed(digits);
  return Number(text) === 0 ? text : (number > 0 ? "+" : "−") + text;
}

/** A number with thousands separators, and `plus` before it if it is positive; what is rounded to 0 has no sign. */
export function formatGrouped(number, digits, plus = "") {
  const [whole, part] = Math.abs(number).toFixed(digits).split(".");
  const text = groupDigits(whole) + (part ? `.${part}` : "");
  return Number(number.toFixed(digits)) === 0 ? text : (number < 0 ? "−" : plus) + text;
}

export const formatFixed = (number, digits = 3) => (Number.isFinite(number) ? number.toFixed(digits) : "–");

/** A share in per cent; 100 % and 0 % only if it is exactly that. */
export function percent(share) {
  if (!Number.isFinite(share)) return "an unknown share";
  if (share > 0 && share < 0.001) return "below 0.1\u00a0%";
  const number = 100 * share;
  if (number < 10 || (number >= 99 && number < 100)) return `${Math.min(Math.round(10 * number) / 10, 99.9)}\u00a0%`;
  return `${Math.round(number)}\u00a0%`;
}

export const groupDigits = (number) => String(number).replace(/\B(?=(\d{3})+(?!\d))/g, ",");
export const countText = (number, noun) => `${groupDigits(number)} ${noun}${number === 1 ? "" : "s"}`;
/** The smallest and the largest number; start from `low` and `high`. */
export function extent(numbers, low = Infinity, high = -Infinity) {
  for (const number of numbers) {
    low = Math.min(low, number);
    high = Math.max(high, number);
  }
  return [low, high];
}

export const quote = (name) => `“${name}”`;

/** Read a colour that the style sheet defines for an element. */
export const colour = (element, name) => getComputedStyle(element).getPropertyValue(`--${name}`).trim();

/** A colour between two, both as #rrggbb. */
export function mixColours(from, to, share) {
  const parts = [1, 3, 5].map((at) => {
    const [a, b] = [from, to].map((hex) => parseInt(hex.slice(at, at + 2), 16));
    return Math.round(a + (b - a) * share);
  });
  return `rgb(${parts.join(",")})`;
}

/** Fit a canvas to its place on the screen, with sharp pixels. */
export function fitCanvas(canvas, height) {
  const width = canvas.clientWidth || 300;
  const ratio = Math.max(window.devicePixelRatio || 1, 1);
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const brush = canvas.getContext("2d");
  brush.setTransform(ratio, 0, 0, ratio, 0, 0);
  brush.clearRect(0, 0, width, height);
  return { brush, width, height };
}

/** A mark for legends: a dot, or a square for odd shapes. */
export function swatch(kind, shape = 0) {
  const mark = shape % 2
    ? draw("rect", { x: 2, y: 2, width: 8, height: 8, class: kind })
    : draw("circle", { cx: 6, cy: 6, r: 4.2, class: kind });
  return draw("svg", { viewBox: "0 0 12 12", class: "swatch", "aria-hidden": "true" }, mark);
}
