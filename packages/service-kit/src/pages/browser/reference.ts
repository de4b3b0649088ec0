/** The API reference: requests to copy, and a field that leaves what has all of its words. */
import { offerCopies, pageElement, put } from './page-parts.ts'

const field = pageElement('find', HTMLInputElement)
const parts = [...document.querySelectorAll<HTMLElement>('.reference section section')]
const texts = parts.map(({ textContent }) => textContent.toLowerCase())
const groups = [...document.querySelectorAll<HTMLElement>('.reference > section')].filter(
  (group) => group.querySelector('section') !== null,
)

/** Shows what has every word, and says how much that is. */
function find(): void {
  const words = field.value.toLowerCase().split(/\s+/)
  parts.forEach((part, at) => {
    part.hidden = !words.every((word) => texts[at]?.includes(word))
  })
  for (const group of groups) group.hidden = group.querySelector('section:not([hidden])') === null
  const shown = parts.filter((part) => !part.hidden).length
  put('found', field.value.trim() === '' ? '' : `${shown} of ${parts.length} are left.`)
}

offerCopies()
pageElement('search').hidden = false
field.addEventListener('input', find)
// A link into the page leads to what is hidden.
addEventListener('hashchange', () => {
  field.value = ''
  find()
  document.getElementById(location.hash.slice(1))?.scrollIntoView()
})
