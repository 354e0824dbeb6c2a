import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { brandColours, isVisibleOn } from './brand-colours';
import { Html } from './html';

const CSS = readFileSync(path.join(__dirname, 'checkout.css'), 'utf8');
const CARD = { light: '#ffffff', dark: '#1c1f26' };

interface Stylesheet {
  /** Inline, so that a page is one request. */
  element: Html;
  /** The source expression for `style-src` of the Content-Security-Policy. */
  hash: string;
}

/** @param colour the seller's, as `#rrggbb`; null or invalid for the default */
export function createStylesheet(colour: string | null): Stylesheet {
  const { brand, onBrand } = brandColours(colour);
  // A button that hardly stands out from the card gets an outline in the text colour.
  const edge = (card: string): string => (isVisibleOn(card, brand) ? brand : 'var(--text)');
  const text =
    `:root{--brand:${brand};--on-brand:${onBrand};--card:${CARD.light};--edge:${edge(CARD.light)}}` +
    `@media (prefers-color-scheme:dark){:root{--card:${CARD.dark};--edge:${edge(CARD.dark)}}}\n${CSS}`;
  return {
    element: new Html(`<style>${text}</style>`),
    hash: `sha256-${createHash('sha256').update(text).digest('base64')}`,
  };
}
