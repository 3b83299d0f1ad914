/** Control characters, line ends, and characters that change the direction of a text. */
const commands = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]+/gu

/** Replaces the characters of an untrusted text that a terminal or an editor obeys with spaces. */
export function toOneLine(text: string): string {
  return text.replace(commands, ' ')
}
