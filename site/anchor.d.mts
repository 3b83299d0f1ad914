export function createAnchor(heading: string): string
