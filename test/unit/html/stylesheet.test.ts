import { brandColours, createStylesheet } from '../../../src/html/stylesheet';

test.each([
  ['#ffffff', '#000000'],
  ['#000000', '#ffffff'],
  ['#ffd400', '#000000'],
  ['#1F4F8F', '#ffffff'],
  ['#808080', '#000000'],
])('text on the brand colour %s is %s', (colour, onBrand) => {
  expect(brandColours(colour)).toEqual({ brand: colour, onBrand });
});

test.each([
  ['#1c1f26', true, false],
  ['#ffffff', false, true],
  ['#1f4f8f', true, false],
  ['#c2410c', true, true],
])(
  'a button in %s has an edge of its own colour on a light card: %s, on a dark card: %s',
  (colour, onLight, onDark) => {
    const edges = [...createStylesheet('', colour).element.text.matchAll(/--edge:([^}]*)}/g)];
    expect(edges.map(([, edge]) => edge === colour)).toEqual([onLight, onDark]);
  },
);

test('an invalid colour is replaced by the default and does not reach the stylesheet', () => {
  for (const colour of ['red', '#12345', '#1234567', '#000}</style><script>', '', null]) {
    expect(brandColours(colour).brand).toBe(brandColours(null).brand);
    expect(createStylesheet('', colour)).toEqual(createStylesheet('', null));
  }
});
