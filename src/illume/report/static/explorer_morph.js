// Changes of elements in place: what stays the same is not laid out again, so that edits repaint in time.

/** Give an element's children the look of others, which are used up; listeners are not taken over. */
export function fill(element, ...fresh) {
  const old = [...element.childNodes];
  const given = fresh.map((child) => (typeof child === "string" ? document.createTextNode(child) : child));
  if (old.length !== given.length || old.some((child, i) => child.nodeName !== given[i].nodeName)) element.replaceChildren(...given);
  else old.forEach((child, i) => morph(child, given[i]));
}

function morph(old, fresh) {
  if (old.nodeType === Node.TEXT_NODE) {
    if (old.data !== fresh.data) old.data = fresh.data;
    return;
  }
  for (const { name, value } of fresh.attributes) {
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  for (const { name } of [...old.attributes]) {
    if (!fresh.hasAttribute(name)) old.removeAttribute(name);
  }
  fill(old, ...fresh.childNodes);
}
