/** What the reference shows for `agent`: nobody's address. */
export const agentExample = '0x00000000000000000000000000000000000000aa'
