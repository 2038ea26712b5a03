// Long work in slices, so that edits are answered and painted in between.

const SLICE = 6; // milliseconds; a step that has begun is finished

/** Take all steps of a generator at once, and return what it returns. */
export function finish(steps) {
  let step = steps.next();
  while (!step.done) step = steps.next();
  return step.value;
}

/** Return what takes the steps of a generator a slice at a time, {start(steps, done), stop()}; new work takes the place of old. */
export function createSlices() {
  const { port1, port2 } = new MessageChannel();
  let present = null;
  let waiting = false;

  function slice() {
    waiting = false;
    if (!present) return;
    const { steps, done } = present;
    const end = performance.now() + SLICE;
    let step = steps.next();
    while (!step.done && performance.now() < end) step = steps.next();
    if (step.done) {
      present = null;
      done(step.value);
    } else later();
  }

  // After the next picture, or soon where none is painted
  function later() {
    if (waiting) return;
    waiting = true;
    (document.hidden ? setTimeout : requestAnimationFrame)(() => port2.postMessage(0));
  }

  port1.onmessage = slice;
  return {
    start(steps, done) {
      present = { steps, done };
      later();
    },
    stop() { present = null; },
  };
}
