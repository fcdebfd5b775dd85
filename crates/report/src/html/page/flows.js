// Where the arrows of data flows run. An arrow begins beside the row of the write, goes down in a track of its own
// and ends beside the row of the read; arrows that pass the same row have different tracks.

/**
 * The flows between rows, with tracks. `rowOf` gives the row of an event or undefined. A flow without a writer
 * (memory as it was before) begins where it ends.
 */
function placeFlows(flows, rowOf) {
  const placed = [];
  for (const [from, to] of flows) {
    const end = rowOf(to);
    const start = from === null ? end : rowOf(from);
    if (start !== undefined && end !== undefined) placed.push({ start, end, isInitial: from === null, track: 0 });
  }
  placed.sort((a, b) => a.start - b.start || b.end - a.end);
  const free = [];
  for (const flow of placed) {
    const track = free.findIndex((end) => end < flow.start);
    flow.track = track < 0 ? free.length : track;
    free[flow.track] = flow.end;
  }
  return placed;
}

function tracksOf(placed) {
  return placed.reduce((most, flow) => Math.max(most, flow.track + 1), 0);
}
