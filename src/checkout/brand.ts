const OWN_COLOUR = '#1f4f8f';

/** What can be told from its neighbour has at least this contrast (WCAG 2.2, 1.4.11). */
const VISIBLE = 3;

/** A seller's colour, and the one of black and white that can be read on it: at least 4.58:1 (WCAG 2.2, 1.4.3). */
export function brandColours(colour: string | null): { brand: string; onBrand: string } {
  const brand = colour !== null && /^#[0-9a-f]{6}$/i.test(colour) ? colour : OWN_COLOUR;
  return { brand, onBrand: luminance(brand) > 0.179 ? '#000000' : '#ffffff' };
}

/** Whether a colour can be told from what it lies on. */
export function isVisibleOn(ground: string, colour: string): boolean {
  const [dark = 0, light = 0] = [luminance(ground), luminance(colour)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05) >= VISIBLE;
}

/** Relative luminance as WCAG defines it, from 0 (black) to 1. */
function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const channel = parseInt(colour.slice(at, at + 2), 16) / 255;
    return channel <= 0.04045 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
