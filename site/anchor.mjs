// The anchor of a heading, as GitHub makes it. The site makes the same, so that one link leads to both.

/** @param {string} heading */
export function createAnchor(heading) {
  return heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\p{M}\p{Pc} -]/gu, '')
    .replaceAll(' ', '-')
}
