import { element } from './page-element.js'

/** Puts a button on every request to copy, where the browser lets a page copy. */
export function offerCopies() {
  if (navigator.clipboard === undefined) return
  for (const code of document.querySelectorAll('pre')) {
    const button = element('button', { type: 'button', class: 'small copy' }, 'Copy')
    button.addEventListener('click', () => {
      navigator.clipboard.writeText(code.textContent).then(
        () => (button.textContent = 'Copied'),
        () => (button.textContent = 'Not allowed'),
      )
    })
    const frame = element('div', { class: 'request' })
    code.replaceWith(frame)
    frame.append(code, button)
  }
}
