/** Resolves in the next turn of the event loop: what others wait for comes first. */
export const nextTurn = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(resolve)
  })
