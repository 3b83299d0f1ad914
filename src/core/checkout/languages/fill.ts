/** Replaces the placeholders of a text: `fill('{count} days', { count: '3' })`. */
export function fill(text: string, values: Readonly<Record<string, string>>): string {
  return text.replace(/\{(\w+)\}/g, (_all, name: string) => values[name] ?? '')
}
