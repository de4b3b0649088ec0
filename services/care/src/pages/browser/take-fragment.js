/**
 * Returns what a link carried after `#`, as `#token=…&secret=…`, and removes it from the address bar and the history
 * entry (C19): from now on it is held in memory only.
 */
export function takeFragment() {
  const carried = new URLSearchParams(location.hash.slice(1))
  if (location.hash !== '') history.replaceState(null, '', location.pathname + location.search)
  return carried
}

/**
 * Calls back with what the page's link carries: now, and when another link is pasted into the same tab.
 *
 * @param {(carried: URLSearchParams) => void} use
 */
export function onFragment(use) {
  use(takeFragment())
  addEventListener('hashchange', () => {
    if (location.hash !== '') use(takeFragment())
  })
}
