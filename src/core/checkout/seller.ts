/** The seller as people see it on the pages, and the checks of its parts. They are shown, so they must not deceive. */
import { parseUrl } from '../encoding/url.ts'
import { isLocalName } from '../http/http.ts'

/** All parts are optional. Without a name, the pages show the host. */
export interface Seller {
  readonly name?: string | undefined
  /** An https URL, or a small image as a data URL. */
  readonly logo?: string | undefined
  /** `#rrggbb`. */
  readonly colour?: string | undefined
  /** An e-mail address or a URL. */
  readonly support?: string | undefined
  /** The URL of the terms of sale. */
  readonly terms?: string | undefined
  /** The URL to which people return after a payment at `/pay`. */
  readonly returnUrl?: string | undefined
}

const longestName = 60
const longestLink = 500
const longestLogo = 16_000
const dataImage = /^data:image\/(?:png|jpeg|gif|webp|svg\+xml);base64,[A-Za-z0-9+/]+={0,2}$/
const mailAddress = /^[A-Za-z0-9._+-]{1,64}@[A-Za-z0-9.-]{1,190}$/

/** Whether people see the text as it is: no control characters and no characters that change the direction of text. */
export function isShownName(text: string): boolean {
  return /^[^\p{C}\p{Z}](?:[^\p{C}\p{Zl}\p{Zp}]*[^\p{C}\p{Z}])?$/u.test(text) && [...text].length <= longestName
}

/** An https URL without credentials. On the machine itself, http is enough. */
export function isSafeLink(text: string): boolean {
  const url = text.length > longestLink ? undefined : parseUrl(text)
  if (!url) return false
  const { protocol, host, username, password } = url
  return username + password === '' && (protocol === 'https:' || (protocol === 'http:' && isLocalName(host)))
}

/** A browser runs no script of an image. */
export function isLogo(text: string): boolean {
  return text.startsWith('data:') ? text.length <= longestLogo && dataImage.test(text) : isSafeLink(text)
}

export function isContact(text: string): boolean {
  return mailAddress.test(text) || isSafeLink(text)
}

/** The address of a contact. */
export function contactLink(contact: string): string {
  return mailAddress.test(contact) ? `mailto:${contact}` : contact
}

/**
 * The source of a logo for a Content-Security-Policy, empty for a data URL. `;` and `,` would end the directive or the
 * policy.
 */
export function logoSource(logo: string | undefined): string {
  if (logo === undefined || logo.startsWith('data:')) return ''
  const { origin, pathname } = new URL(logo)
  return `${origin}${pathname.replaceAll(';', '%3B').replaceAll(',', '%2C')}`
}
