// Pointer and keys on the map.

function startPicking(choose) {
  const { canvas } = rowMap;
  const tip = byId("tip");
  const directions = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

  function words(row) {
    const sure = fixed(data.probability[row], 2);
    const otherwise = data.status[row] ? `, surrogate: ${data.classes[data.surrogateDecision[row]]}` : "";
    return `row ${data.label(row)}: ${data.classes[data.decision[row]]} (${sure}${otherwise})`;
  }

  function point(row) {
    rowMap.hover(row);
    tip.hidden = row < 0;
    canvas.style.cursor = row < 0 ? "default" : "pointer";
    if (row < 0) return;
    tip.textContent = words(row);
    const [px, py] = rowMap.place(row);
    const left = Math.min(Math.max(px - tip.offsetWidth / 2, 0), canvas.clientWidth - tip.offsetWidth);
    tip.style.left = `${left}px`;
    tip.style.top = `${py > 44 ? py - tip.offsetHeight - 12 : py + 14}px`;
  }

  const at = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };

  canvas.addEventListener("pointermove", (event) => point(rowMap.nearest(...at(event), 16)));
  canvas.addEventListener("pointerleave", () => point(-1));
  canvas.addEventListener("click", (event) => {
    const row = rowMap.nearest(...at(event), 24);
    if (row >= 0) choose(row);
  });
  canvas.addEventListener("blur", () => point(-1));
  canvas.addEventListener("keydown", (event) => {
    const from = rowMap.hovered >= 0 ? rowMap.hovered : rowMap.chosen;
    if (event.key === "Enter" && from >= 0) {
      choose(from);
      event.preventDefault();
    }
    if (!directions[event.key]) return;
    event.preventDefault();
    const [dx, dy] = directions[event.key];
    const [px, py] = from >= 0 ? rowMap.place(from) : [canvas.clientWidth / 2, canvas.clientHeight / 2];
    const ahead = (row) => {
      const [qx, qy] = rowMap.place(row);
      const along = (qx - px) * dx + (qy - py) * dy;
      const aside = Math.abs((qx - px) * dy) + Math.abs((qy - py) * dx);
      return row !== from && along > 0.5 && aside <= along;
    };
    const next = from >= 0 ? rowMap.nearest(px, py, 1e6, ahead) : rowMap.nearest(px, py, 1e6);
    if (next >= 0) {
      point(next);
      byId("said").textContent = words(next);
    }
  });
}
