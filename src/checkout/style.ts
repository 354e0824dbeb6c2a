import { createHash } from 'node:crypto';
import { brandColours, isVisibleOn } from './brand';
import { Html } from './html';

/** What cards are made of, in both schemes. */
const CARD = { light: '#ffffff', dark: '#1c1f26' };

/** Phone first; colours meet WCAG 2.2 AA in both schemes. */
const SHEET = `
*,*::before,*::after{box-sizing:border-box}
:root{color-scheme:light dark;--page:#f3f4f6;--card:${CARD.light};--text:#16181d;--soft:#565d69;--line:#d5d9e0;--field:#7b8494;--bad:#b3261e;--bad-page:#fdeceb;--good:#1b6b3a;--good-page:#e6f4ea;--focus:#0b57d0;--tint:#f7f8fa}
@media (prefers-color-scheme:dark){:root{--page:#111318;--card:${CARD.dark};--text:#eef0f4;--soft:#aeb5c2;--line:#373d48;--field:#8a93a3;--bad:#ffb4ab;--bad-page:#3b1a18;--good:#7fd79b;--good-page:#14301e;--focus:#a8c7fa;--tint:#232731}}
html{-webkit-text-size-adjust:100%;text-size-adjust:100%}
body{margin:0;background:var(--card);color:var(--text);font:1.0625rem/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;overflow-wrap:anywhere}
.notice{margin:0;padding:.5rem 1rem;background:#2b2f38;color:#fff;font-size:.875rem;text-align:center;text-wrap:balance}
.page{max-width:33rem;margin:0 auto;padding:0 0 2.5rem}
.card{background:var(--card);border-top:6px solid var(--brand);padding:1.5rem 1.25rem 2rem}
.seller{display:flex;flex-wrap:wrap;align-items:center;gap:.5rem .75rem;font-weight:600;min-height:2.5rem}
.seller img{max-width:9rem;max-height:2.5rem;background:#fff;border-radius:4px}
.seller span{flex:1 1 10rem}
.order{margin:1.25rem 0 0;padding:1rem 0;border:solid var(--line);border-width:1px 0}
.order .amount{margin:0;font-size:2.125rem;line-height:1.15;font-weight:700;letter-spacing:-.02em;font-variant-numeric:tabular-nums}
.order .reference{margin:.25rem 0 0;color:var(--soft);font-size:.9375rem}
.steps{display:grid;grid-template-columns:repeat(4,1fr);gap:.375rem;margin:1.5rem 0 .5rem}
.steps span{height:5px;border-radius:3px;background:var(--line)}
.steps .done{background:var(--text)}
.step{margin:0;color:var(--soft);font-size:.9375rem}
h1{margin:1.5rem 0 .75rem;font-size:1.5rem;line-height:1.25;letter-spacing:-.01em;text-wrap:balance}
.step+h1{margin-top:.25rem}
h2{margin:1.5rem 0 .5rem;font-size:1.0625rem}
p{margin:.75rem 0}
a{color:inherit;text-underline-offset:.18em}
a:hover{text-decoration-thickness:2px}
:focus-visible{outline:3px solid var(--focus);outline-offset:2px}
fieldset{margin:1.25rem 0 0;padding:0;border:0;min-width:0}
legend{padding:0}
legend h1{margin-top:0}
.step+form fieldset,.step+form h1{margin-top:.25rem}
.hidden{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
.option{display:grid;grid-template-columns:auto 1fr;column-gap:.875rem;margin:0 0 .75rem;padding:1rem;border:1px solid var(--field);border-radius:12px;cursor:pointer}
.option:has(:checked){border-color:var(--text);box-shadow:inset 0 0 0 1px var(--text);background:var(--tint)}
.option:focus-within{outline:3px solid var(--focus);outline-offset:2px}
.option input:focus-visible{outline:0}
.option strong{display:block}
.option span span{display:block;margin-top:.25rem;color:var(--soft);font-size:.9375rem;line-height:1.45}
input[type=radio],input[type=checkbox]{width:1.375rem;height:1.375rem;margin:.125rem 0 0;accent-color:var(--text)}
.field{margin:1.25rem 0}
.field label{display:block;font-weight:600}
.hint{margin:0;color:var(--soft);font-size:.9375rem}
.field input{display:block;width:100%;min-height:3rem;margin-top:.375rem;padding:.625rem .75rem;border:1px solid var(--field);border-radius:8px;background:var(--card);color:var(--text);font:inherit}
.field .money{position:relative}
.money span{position:absolute;left:.875rem;top:50%;transform:translateY(-50%);color:var(--soft)}
.money input{padding-left:1.875rem}
.wrong{margin:.375rem 0 0;color:var(--bad);font-size:.9375rem;font-weight:600}
.field [aria-invalid=true]{border:2px solid var(--bad)}
.alert{margin:1.25rem 0;padding:.875rem 1rem;border-left:5px solid var(--bad);border-radius:4px;background:var(--bad-page)}
.alert h2,.alert p,.alert ul{margin:0}
.alert ul{padding-left:1.125rem}
.told{margin:1.25rem 0;padding:.875rem 1rem;border-left:5px solid var(--field);border-radius:4px;background:var(--tint)}
button,.button{display:block;width:100%;min-height:3.25rem;margin:1.5rem 0 0;padding:.8125rem 1.25rem;border:1px solid var(--edge);border-radius:10px;background:var(--brand);color:var(--on-brand);font:inherit;font-weight:600;text-align:center;text-decoration:none;cursor:pointer}
button:hover,.button:hover{box-shadow:inset 0 0 0 99px rgba(128,128,128,.14)}
.agree{display:grid;grid-template-columns:auto 1fr;gap:.75rem;margin:1.5rem 0 0;cursor:pointer}
table{width:100%;border-collapse:collapse;font-variant-numeric:tabular-nums}
caption{text-align:left;color:var(--soft);font-size:.9375rem;padding-bottom:.25rem}
th,td{padding:.625rem 0;border-bottom:1px solid var(--line);text-align:left;font-weight:400}
thead th{color:var(--soft);font-size:.875rem}
tfoot th,tfoot td{font-weight:700;border-bottom:0}
th:last-child,td:last-child{text-align:right;white-space:nowrap;padding-left:1rem}
dl{margin:1rem 0;display:grid;grid-template-columns:auto 1fr;gap:.5rem 1.25rem}
dt{color:var(--soft)}
dd{margin:0;text-align:right}
.mark{display:grid;place-items:center;width:3rem;height:3rem;margin:1.5rem 0 0;border-radius:50%;font-size:1.5rem;font-weight:700;line-height:1;background:var(--tint);color:var(--soft);border:1px solid var(--line)}
.mark.good{background:var(--good-page);color:var(--good);border-color:transparent}
.mark+h1{margin-top:.875rem}
.mark.busy{background:none;border:4px solid var(--line);border-top-color:var(--text)}
@media (prefers-reduced-motion:no-preference){.mark.busy{animation:turn 1.2s linear infinite}}
@keyframes turn{to{transform:rotate(1turn)}}
.aside{color:var(--soft);font-size:.9375rem}
footer{margin:2rem 0 0;padding:1rem 0 0;border-top:1px solid var(--line);color:var(--soft);font-size:.9375rem}
footer p{margin:0}
@media (forced-colors:active){.steps span{border:2px solid GrayText}.steps .done{border-color:CanvasText;background:CanvasText}}
@media (min-width:36rem){body{background:var(--page)}.page{padding:2.5rem 1rem 4rem}.card{border-radius:14px;padding:2rem 2.25rem 2.5rem;box-shadow:0 1px 2px rgba(0,0,0,.08),0 8px 28px rgba(0,0,0,.06)}}
@media print{:root{color-scheme:light;--page:#fff;--card:#fff;--text:#000;--soft:#333;--line:#999;--tint:#fff}.notice{background:none;color:#000;border:1px solid #000}.button,button,.steps,.no-print,footer{display:none}.page{max-width:none;padding:0}.card{padding:0;box-shadow:none;border-top:0}.mark.good{background:#fff;color:#000;border-color:#000}}
`;

export interface Style {
  element: Html;
  /** As a Content-Security-Policy names it. */
  hash: string;
}

/** The stylesheet in a seller's colour; it goes into the page, so that a page is one request. */
export function styleFor(colour: string | null): Style {
  const { brand, onBrand } = brandColours(colour);
  // A button whose colour is nearly the card's has the colour of the text for its edge.
  const edgeOn = (card: string): string => (isVisibleOn(card, brand) ? brand : 'var(--text)');
  const text =
    `:root{--brand:${brand};--on-brand:${onBrand};--edge:${edgeOn(CARD.light)}}` +
    `@media (prefers-color-scheme:dark){:root{--edge:${edgeOn(CARD.dark)}}}${SHEET}`;
  return {
    element: new Html(`<style>${text}</style>`),
    hash: `sha256-${createHash('sha256').update(text).digest('base64')}`,
  };
}
