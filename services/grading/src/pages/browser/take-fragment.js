/**
 * Returns what a link carried after `#`, as `#key=…`, and removes it from the address bar and the history entry: from now
 * on it is held in memory only.
 */
export function takeFragment() {
  const carried = new URLSearchParams(location.hash.slice(1))
  if (location.hash !== '') history.replaceState(null, '', location.pathname + location.search)
  return carried
}
