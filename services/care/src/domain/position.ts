/** A place in the order of all commits, as a stream knows it: what of each journal is behind it, and of the next place. */
export type Position = {
  /** Versions of speakable records behind it. */
  readonly user: number
  /** Versions of internal records behind it. */
  readonly assistant: number
  /** Frames of the next place that are behind it too. */
  readonly frames: number
}

/** Versions of both audiences are counted together: every append locks both journals' heads. */
export const countVersions = ({ assistant, user }: Pick<Position, 'user' | 'assistant'>): number =>
  user + assistant

/** Whether a position comes before another one. */
export const isBefore = (left: Position, right: Position): boolean =>
  countVersions(left) === countVersions(right)
    ? left.frames < right.frames
    : countVersions(left) < countVersions(right)

/** Whether a position is within what journals of these sizes hold. */
export const isWithinSizes = (
  { assistant, user }: Position,
  sizes: Pick<Position, 'user' | 'assistant'>,
): boolean => user <= sizes.user && assistant <= sizes.assistant
