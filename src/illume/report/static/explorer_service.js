// The model behind a service: asked at the address that the page comes from.

/** What a service says about a request that it did not answer. */
async function problemOf(answer) {
  const { detail } = await answer.json().catch(() => ({}));
  if (typeof detail === "string") return detail;
  return (Array.isArray(detail) && detail[0] && detail[0].msg) || `the service answered with status ${answer.status}`;
}

/** The live model of a page's data, {ask(rows) -> Promise of answers}; null where the service has none. */
export function connectService({ engine: { features }, page: { service } }) {
  if (!service.model) return null;
  // Not relative to the page, whose address may hold a name and a password; browsers send those by themselves.
  const address = new URL("explain", location.origin + location.pathname);

  async function askSome(rows) {
    const named = rows.map((row) => Object.fromEntries(features.map(({ name }, j) => [name, row[j]])));
    const answer = await fetch(address, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ rows: named, layout: "arrays" }),
      signal: AbortSignal.timeout(1000 * service.seconds),
    }).catch((error) => {
      throw new Error(error.name === "TimeoutError" ? "it has not answered in time" : "the service cannot be reached");
    });
    if (!answer.ok) throw new Error(await problemOf(answer));
    const { arrays } = await answer.json();
    return arrays.probabilities || arrays.predictions;
  }

  return {
    async ask(rows) {
      const found = [];
      for (let start = 0; start < rows.length; start += service.max_rows) {
        found.push(...await askSome(rows.slice(start, start + service.max_rows)));
      }
      return found;
    },
  };
}
