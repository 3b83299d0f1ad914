/**
 * Derives the accent colours of the pages from the seller's colour. Any colour stays readable: as text it becomes darker in
 * the light theme and lighter in the dark theme until its contrast suffices. A button keeps the colour, with black or white
 * text, unless it would not stand out from the page.
 */
type Rgb = readonly [red: number, green: number, blue: number]

/** One theme's accent, which is the colour of text, a soft background for such text, and a button with its text. */
export interface AccentTheme {
  readonly accent: string
  readonly soft: string
  readonly fill: string
  readonly fillText: string
}

export interface Accent {
  readonly light: AccentTheme
  readonly dark: AccentTheme
}

interface Theme {
  /** The backgrounds on which the accent is text. They are those of `tokens.css`, and a test compares them. */
  readonly grounds: readonly string[]
  /** The accent moves towards this colour. */
  readonly towards: string
  /** The part of the accent in the soft background. */
  readonly softness: number
}

const themes: Readonly<Record<keyof Accent, Theme>> = {
  light: { grounds: ['#f6f7f9', '#ffffff'], towards: '#000000', softness: 0.1 },
  dark: { grounds: ['#0e1016', '#171a22'], towards: '#ffffff', softness: 0.18 },
}
const leastContrast = 4.5
/** Of a button with the page. */
const leastDifference = 1.3
const steps = 40

export const colourPattern = /^#[0-9a-f]{6}$/i

/** `colour` is six hexadecimal digits after `#`. */
export function deriveAccent(colour: string): Accent {
  return { light: deriveTheme(colour, themes.light), dark: deriveTheme(colour, themes.dark) }
}

function deriveTheme(colour: string, theme: Theme): AccentTheme {
  const { grounds, towards, softness } = theme
  const softOf = (accent: string) => mix(grounds.at(-1) ?? towards, accent, softness)
  const isFar = (one: string, others: readonly string[], least: number) =>
    others.every((other) => contrast(one, other) >= least)
  const shades = Array.from({ length: steps + 1 }, (_, step) => mix(colour, towards, step / steps))
  const accent = shades.find((shade) => isFar(shade, [...grounds, softOf(shade)], leastContrast)) ?? towards
  const fill = shades.find((shade) => isFar(shade, grounds, leastDifference)) ?? towards
  const fillText = contrast(fill, '#ffffff') >= leastContrast ? '#ffffff' : '#000000'
  return { accent, soft: softOf(accent), fill, fillText }
}

/** The ratio of WCAG 2, from 1 to 21. */
export function contrast(one: string, other: string): number {
  const [low = 0, high = 0] = [luminance(one), luminance(other)].sort((left, right) => left - right)
  return (high + 0.05) / (low + 0.05)
}

function luminance(colour: string): number {
  const [red, green, blue] = parse(colour)
  return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
}

function linear(channel: number): number {
  const part = channel / 255
  return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
}

/** `part` of `other`, and the rest of `one`. */
function mix(one: string, other: string, part: number): string {
  const [from, to] = [parse(one), parse(other)]
  const channel = (index: 0 | 1 | 2): string =>
    Math.round(from[index] + (to[index] - from[index]) * part)
      .toString(16)
      .padStart(2, '0')
  return `#${channel(0)}${channel(1)}${channel(2)}`
}

function parse(colour: string): Rgb {
  const value = Number.parseInt(colour.slice(1), 16)
  return [value >> 16, (value >> 8) & 255, value & 255]
}
