import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { Html } from './html';

const BASE_CSS = readFileSync(path.join(__dirname, 'base.css'), 'utf8');
const DEFAULT_COLOUR = '#1f4f8f';
/** WCAG 2.2, 1.4.11: the minimum contrast between a control and its background. */
const MIN_CONTRAST = 3;
const CARD = { light: '#ffffff', dark: '#1c1f26' };

interface Stylesheet {
  /** Inline, so that a page is one request. */
  element: Html;
  /** The source expression for `style-src` of the Content-Security-Policy. */
  hash: string;
}

/**
 * The base of all pages, and the rules of one kind of page after it.
 * @param colour the seller's, as `#rrggbb`; null or invalid for the default
 */
export function createStylesheet(css: string, colour: string | null): Stylesheet {
  const { brand, onBrand } = brandColours(colour);
  // A button that hardly stands out from the card gets an outline in the text colour.
  const edge = (card: string): string => (isVisibleOn(card, brand) ? brand : 'var(--text)');
  const text =
    `:root{--brand:${brand};--on-brand:${onBrand};--card:${CARD.light};--edge:${edge(CARD.light)}}` +
    `@media (prefers-color-scheme:dark){:root{--card:${CARD.dark};--edge:${edge(CARD.dark)}}}\n${BASE_CSS}${css}`;
  return {
    element: new Html(`<style>${text}</style>`),
    hash: `sha256-${createHash('sha256').update(text).digest('base64')}`,
  };
}

/** The brand colour, and black or white for text on it. The text contrast is at least 4.58:1 (WCAG 2.2, 1.4.3). */
export function brandColours(colour: string | null): { brand: string; onBrand: string } {
  const brand = colour !== null && /^#[0-9a-f]{6}$/i.test(colour) ? colour : DEFAULT_COLOUR;
  return { brand, onBrand: luminance(brand) > 0.179 ? '#000000' : '#ffffff' };
}

function isVisibleOn(background: string, colour: string): boolean {
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
