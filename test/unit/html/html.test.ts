import { html } from '../../../src/html/html';

test('a template escapes every value in text and in attributes', () => {
  const evil = `"><script>alert('x')</script>&`;
  expect(html`<p title="${evil}">${evil}</p>`.text).toBe(
    `<p title="&quot;&gt;&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&amp;">&quot;&gt;&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&amp;</p>`,
  );
});

test('a template keeps markup, joins lists, and renders nothing for false, null and undefined', () => {
  expect(html`${['a<', html`<b>${1}</b>`]}${false}${null}${undefined}${0}`.text).toBe('a&lt;<b>1</b>0');
});
