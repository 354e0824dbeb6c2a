const DEFAULT_COLOUR = '#1f4f8f';

/** WCAG 2.2, 1.4.11: the minimum contrast between a control and its background. */
const MIN_CONTRAST = 3;

/** The brand colour, and black or white for text on it. The text contrast is at least 4.58:1 (WCAG 2.2, 1.4.3). */
export function brandColours(colour: string | null): { brand: string; onBrand: string } {
  const brand = colour !== null && /^#[0-9a-f]{6}$/i.test(colour) ? colour : DEFAULT_COLOUR;
  return { brand, onBrand: luminance(brand) > 0.179 ? '#000000' : '#ffffff' };
}

export function isVisibleOn(background: string, colour: string): boolean {
  const [darker = 0, lighter = 0] = [luminance(background), luminance(colour)].sort((a, b) => a - b);
  return (lighter + 0.05) / (darker + 0.05) >= MIN_CONTRAST;
}

/** Relative luminance as defined by WCAG, from 0 (black) to 1 (white). */
function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((index) => {
    const channel = parseInt(colour.slice(index, index + 2), 16) / 255;
    return channel <= 0.04045 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
