// The map of the rows on a canvas, with pointer and keyboard.

import { colour, extent, finder, fitCanvas, formatFixed } from "./text.js";

const MARGIN = 14;
const DIRECTIONS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

/** Draw the map below `root`; `onChoose` is told the row that was picked, `onBrush` a mask of the rows in a rectangle. */
export function createMap(root, data, onChoose, onBrush) {
  const byId = finder(root);
  const canvas = byId("map");
  const tip = byId("tip");
  const { x, y, n } = data;
  const keep = document.createElement("canvas"); // the picture of all rows, without marks
  let places = null;
  let seen = null;
  let hovered = -1;
  let chosen = -1;
  let frame = null; // the rectangle of the rows to keep: two corners, as shares of the canvas
  let dragged = false;

  /** Scale numbers from the smallest to the largest to 0 to 1. */
  function shares(numbers) {
    const [low, high] = extent(numbers);
    const span = high - low;
    return (number) => (span ? (number - low) / span : 0.5);
  }

  function place() {
    const height = Math.round(Math.min(Math.max(canvas.clientWidth * 0.62, 250), 420));
    canvas.style.height = `${height}px`;
    const fit = fitCanvas(canvas, height);
    const [across, up] = [shares(x), shares(y)];
    places = { ...fit, px: new Float32Array(n), py: new Float32Array(n) };
    for (let row = 0; row < n; row += 1) {
      places.px[row] = MARGIN + across(x[row]) * (fit.width - 2 * MARGIN);
      places.py[row] = fit.height - MARGIN - up(y[row]) * (fit.height - 2 * MARGIN);
    }
  }

  const radius = () => (n > 4000 ? 2.2 : n > 800 ? 2.8 : 3.8);

  function dot(brush, row, size) {
    const [px, py] = [places.px[row], places.py[row]];
    brush.beginPath();
    if (data.shape(data.decision[row]) % 2) brush.rect(px - size, py - size, 2 * size, 2 * size);
    else brush.arc(px, py, size, 0, 2 * Math.PI);
  }

  function show() {
    place();
    const { brush } = places;
    const colours = data.classes.map((_, position) => data.colour(canvas, position));
    const size = radius();
    const strong = (row) => !seen || seen[row];
    for (const pass of [false, true]) {
      brush.globalAlpha = pass ? (n > 4000 ? 0.65 : 0.8) : 0.12;
      for (let row = 0; row < n; row += 1) {
        if (strong(row) === pass) {
          brush.fillStyle = colours[data.decision[row]];
          dot(brush, row, size);
          brush.fill();
        }
      }
    }
    brush.globalAlpha = 1;
    keep.width = canvas.width;
    keep.height = canvas.height;
    keep.getContext("2d").drawImage(canvas, 0, 0);
    marks();
  }

  /** Mark the chosen row and the one under the pointer on top of the stored picture of all rows. */
  function marks() {
    const { brush, width: wide, height: tall } = places;
    brush.clearRect(0, 0, wide, tall);
    brush.drawImage(keep, 0, 0, wide, tall);
    for (const [row, width] of [[hovered, 1.5], [chosen, 2.5]]) {
      if (row < 0) continue;
      brush.fillStyle = data.colour(canvas, data.decision[row]);
      dot(brush, row, radius() + 1.5);
      brush.fill();
      brush.strokeStyle = colour(canvas, "text");
      brush.lineWidth = width;
      dot(brush, row, radius() + 5);
      brush.stroke();
    }
    if (frame) {
      const [x0, y0, x1, y1] = corners();
      brush.strokeStyle = colour(canvas, "accent");
      brush.lineWidth = 1.5;
      brush.strokeRect(x0, y0, x1 - x0, y1 - y0);
    }
  }

  /** The rectangle on the screen: left, top, right, bottom. */
  function corners() {
    const [[ax, ay], [bx, by]] = frame.map(([across, down]) => [across * places.width, down * places.height]);
    return [Math.min(ax, bx), Math.min(ay, by), Math.max(ax, bx), Math.max(ay, by)];
  }

  /** Which rows are in the rectangle. */
  function inside() {
    const [x0, y0, x1, y1] = corners();
    return Uint8Array.from(places.px, (px, row) => Number(px >= x0 && px <= x1 && places.py[row] >= y0 && places.py[row] <= y1));
  }

  function nearest(px, py, within, allowed = () => true) {
    let best = -1;
    let closest = within * within;
    for (let row = 0; row < n; row += 1) {
      const distance = (places.px[row] - px) ** 2 + (places.py[row] - py) ** 2;
      if (distance <= closest && (!seen || seen[row]) && allowed(row)) {
        best = row;
        closest = distance;
      }
    }
    return best;
  }

  const spot = (row) => [places.px[row], places.py[row]];

  function words(row) {
    const words = data.numbers ? data.answer(row) : `${data.classes[data.decision[row]]} (${formatFixed(data.probability[row], 2)})`;
    return `row ${data.label(row)}: ${words}`;
  }

  function point(row) {
    if (row !== hovered) {
      hovered = row;
      marks();
    }
    tip.hidden = row < 0;
    canvas.style.cursor = row < 0 ? "default" : "pointer";
    if (row < 0) return;
    tip.textContent = words(row);
    const [px, py] = spot(row);
    const left = Math.min(Math.max(px - tip.offsetWidth / 2, 0), canvas.clientWidth - tip.offsetWidth);
    tip.style.left = `${left}px`;
    tip.style.top = `${py > 44 ? py - tip.offsetHeight - 12 : py + 14}px`;
  }

  const at = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };

  /** Let mouse and pen draw a rectangle; fingers scroll. */
  function listenToDrags() {
    let start = null;
    const share = (event) => at(event).map((place, i) => place / (i ? places.height : places.width));
    canvas.addEventListener("pointerdown", (event) => {
      dragged = false;
      if (event.pointerType !== "touch" && event.button === 0) start = share(event);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!start) return;
      const end = share(event);
      dragged = dragged || Math.hypot((end[0] - start[0]) * places.width, (end[1] - start[1]) * places.height) > 6;
      if (!dragged) return;
      canvas.setPointerCapture(event.pointerId);
      frame = [start, end];
      marks();
    });
    canvas.addEventListener("pointerup", () => {
      if (start && dragged) onBrush(inside());
      start = null;
    });
  }

  function listen() {
    listenToDrags();
    canvas.addEventListener("pointermove", (event) => point(dragged && event.buttons ? -1 : nearest(...at(event), 16)));
    canvas.addEventListener("pointerleave", () => point(-1));
    canvas.addEventListener("click", (event) => {
      if (dragged) return;
      const row = nearest(...at(event), 24);
      if (row >= 0) onChoose(row);
    });
    canvas.addEventListener("blur", () => point(-1));
    canvas.addEventListener("keydown", (event) => {
      const from = hovered >= 0 ? hovered : chosen;
      if (event.key === "Enter" && from >= 0) {
        onChoose(from);
        event.preventDefault();
      }
      if (!DIRECTIONS[event.key]) return;
      event.preventDefault();
      const [dx, dy] = DIRECTIONS[event.key];
      const [px, py] = from >= 0 ? spot(from) : [canvas.clientWidth / 2, canvas.clientHeight / 2];
      const ahead = (row) => {
        const [qx, qy] = spot(row);
        const along = (qx - px) * dx + (qy - py) * dy;
        const aside = Math.abs((qx - px) * dy) + Math.abs((qy - py) * dx);
        return row !== from && along > 0.5 && aside <= along;
      };
      const next = from >= 0 ? nearest(px, py, 1e6, ahead) : nearest(px, py, 1e6);
      if (next >= 0) {
        point(next);
        byId("said").textContent = words(next);
      }
    });
  }

  listen();
  return {
    show,
    choose(row) {
      chosen = row;
      marks();
    },
    /** Fade all rows that a mask leaves out. */
    only(mask) {
      seen = mask;
      if (!mask) frame = null;
      show();
    },
  };
}
