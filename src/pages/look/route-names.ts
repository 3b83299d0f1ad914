/** The names of routes for people. */

/** Leaves out the usual method, as the names of endpoints do. Texts of the service name routes with it. */
export function trimGet(text: string): string {
  return text.replaceAll(/\bGET (?=\/)/g, '')
}
