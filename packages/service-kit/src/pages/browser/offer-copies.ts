/** The script of a page that has nothing but requests to copy. */
import { offerCopies } from './page-parts.ts'

offerCopies()
