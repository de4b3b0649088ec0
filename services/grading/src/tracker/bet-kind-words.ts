/**
 * What people write about the kind of a bet, as data. Words are plain: no accents, case or punctuation; `#` is any number
 * but 1, so that `# fold` is `4-fold` and not `1-fold`.
 */

/** Words of one kind, by how much else may stand beside them. */
export type KindWords = {
  /** In any text, also of a market or a selection. */
  readonly anywhere: readonly string[]
  /** In a column of kinds, or as a whole cell or tag. */
  readonly alone: readonly string[]
  /** Only in a column of kinds: elsewhere they mean something else, too. */
  readonly inKinds: readonly string[]
}

const list = (text: string): readonly string[] =>
  text
    .split('|')
    .map((phrase) => phrase.trim())
    .filter((phrase) => phrase !== '')

export const IN_PLAY: KindWords = {
  anywhere: list(
    `live | in play | inplay | in running | inrunning | in game | ingame | livebet | livebets | live bet | bet live
    | livewette | livewetten | im spiel | en vivo | en directo | en juego | dal vivo | in diretta | en direct | ao vivo
    | na zywo | canli | лайв | в игре | rest of match | rest of the match | rest of game | rest of the game
    | remaining time | current score | next goal | at half time live`,
  ),
  alone: list(
    'ip | running | during game | during match | mid game | midgame | after start | half time bet',
  ),
  inKinds: [],
}

/** Words of people, not of bets, in which `live` is not said of the bet. */
export const NOT_IN_PLAY = list(
  'not live | non live | no live | not in play | pre live | live stream | live streamed | watched live | watch live | live on tv | live dog | live underdog | live or pre',
)

/** In a sentence of a note these may be said of anything; the reader is asked. */
export const ASKED_IN_NOTES = list('live | next goal | in game')

export const MULTIPLE: KindWords = {
  anywhere: list(
    `parlay | parlays | parley | sgp | sgpx | sgm | smm | same game | same game parlay | same match multi | bet builder
    | betbuilder | build a bet | buildabet | bet creator | betcreator | request a bet | round robin | round robins | yankee
    | super yankee | trixie | heinz | super heinz | goliath | lucky # | union jack | acca | accas | accumulator
    | accumulators | accumulateur | acumulador | acumulada | multibet | multi bet | multibets | multi leg | multileg
    | multipla | multiplas | kombi | kombiwette | kombiwetten | kombination | kombinationswette | kombinasyon | kombine
    | kombinacja | combinada | combinado | combine bet | combi bet | combiweddenschap | ako | systemwette | system bet
    | system # # | system # of # | # # system | teaser | teasers | pleaser | # fold | # folds | # leg | # legs | # legger
    | # team parlay | # teamer | # selections | # er kombi | twofold | two fold | threefold | three fold | fourfold
    | four fold | fivefold | five fold | sixfold | six fold | two leg | three leg | four leg | five leg | treble | trebles
    | full cover | if bet | power play | flex play | cross game | cross sport | экспресс`,
  ),
  alone: list(
    `multi | multis | multiple | multiples | mult | double | doubles | triple | triples | combo | combos | combi | combis
    | combine | combined | combination | combinations | canadian | patent | dubbel | dubbla | trippel | trippla | doppia
    | doppie | tripla | doble | dobles | quad | quads | stitch | permutation | perm | perms | trebles | rr | bb | # team
    | # pick | # picks | # x`,
  ),
  inKinds: list(
    'system | systems | sistema | sisteme | systeme | express | expres | flag | reverse | block | cover',
  ),
}

/** Names in which a word above means no multiple. */
export const NOT_MULTIPLE = list(
  'double chance | doppia chance | doble oportunidad | dupla hipotese | double result | double header | doubleheader | double play | double double | no parlay | not a parlay',
)

export const LAY: KindWords = {
  anywhere: list(
    'lay | lays | laying | laid | layed | lay bet | lay the draw | not to win | to not win | will not win',
  ),
  alone: list('back against | against | oppose | opposed | fade | sell | sold | short | layer'),
  inKinds: list('contra | kontra | gegen | banca'),
}

export const NOT_LAY = list('against the spread | sell out')

/** A bet against its selection, in a column that says which side was taken. */
export const AGAINST = new Set([
  ...LAY.anywhere,
  ...LAY.alone,
  ...LAY.inKinds,
  ...list(
    'l | s | n | no | en contra | contre | bear | ask | selling | sell no | buy no | no side',
  ),
])
/** A bet on its selection, in such a column. */
export const FOR = new Set(
  list(
    'back | b | backed | backing | buy | bought | long | yes | y | for | bid | buy yes | punta | pour | a favor | win',
  ),
)

export const EACH_WAY: KindWords = {
  anywhere: list('each way | eachway'),
  alone: list('ew | e w | win place | place only'),
  inKinds: [],
}

/** Kinds that a plain bet before the start has: they say nothing else. */
export const PLAIN = list(
  `single | singles | sgl | single bet | single bets | singlebet | straight | straights | straight bet | straight wager
  | simple | simples | simple bet | normal | ordinary | standard | regular | einzel | einzelwette | einzelwetten | singola
  | singole | sencilla | sencillas | apuesta simple | enkel | enkelt | enkelspel | ординар | 1 fold | 1 leg | 1 selection
  | bet | wager | cash | real money | free bet | freebet | bonus bet | boost | boosted | odds boost | price boost
  | profit boost | risk free | no sweat | promo | bonus | bonus cash | qualifying bet | qualifier | pre match | prematch
  | pre game | pregame | pre live | prelive | back | backed | fixed odds | sports | sport | sportsbook | s`,
)

/** What says no in a column that flags something. */
export const NO = new Set([
  '',
  ...list(
    `n | no | f | false | 0 | 00 | none | null | off | na | n a | nan | nein | non | nao | nie | nei | not live | not in play
    | prematch | pre match | pre game | pregame | prelive | pre live | pre | pre event | before | before start | before game
    | before match | early | opening | open | close | closing | morning | overnight | ante post | antepost | single
    | singles | straight | simple | normal | 1 leg | 1 fold`,
  ),
])
/** Marks that say no, where a column is marked by signs. */
export const NO_MARKS = /^[\s.\-–—_/✗✘❌✕☐⬜]*$/u
