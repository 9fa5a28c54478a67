import fc from 'fast-check';
import { renderToStaticMarkup } from 'react-dom/server';
import ReactMarkdown, { type Components } from 'react-markdown';
import remarkGfm from 'remark-gfm';
import { expect, it } from 'vitest';
import { type MarkdownBlocks, markdownBlocks, NO_BLOCKS } from './markdown-view.tsx';

/** What turns lines into blocks, and blocks into other blocks. */
const PIECES = [
  ...[
    'word',
    'two words',
    '*emphasis*',
    '**strong',
    '`code`',
    '`',
    '~~gone~~',
    '\\',
    '&amp;',
    '\uFEFF',
    '\t',
    ' ',
    '    ',
  ],
  ...['# ', '#', '###### six', '- ', '-', '* ', '+ ', '1. ', '2) ', '- [x] ', '> ', '>', '  ', '   '],
  ...['---', '===', '***', '- - -', '```', '```ts', '~~~', '````', '| a | b |', '|-|-|', '| - | :-: |', '|', ':-'],
  ...[
    '<div>',
    '</div>',
    '<!-- ',
    '-->',
    '<b>',
    '<script>',
    '</script>',
    '<?',
    '?>',
    '<a href="x">',
    '<http://x.example>',
  ],
  ...[
    '[link](http://x.example)',
    '[ref]',
    '[ref]: /url',
    '[ref]:',
    '[^1]',
    '[^1]: note',
    '"title"',
    "'t",
    '![alt](i.png)',
  ],
  ...['https://x.example/a_b', 'www.x.example', 'me@x.example', ':', '"', '(', ')', '[', ']'],
];
const line = fc.array(fc.constantFrom(...PIECES), { maxLength: 4 }).map((pieces) => pieces.join(''));
const ending = fc.constantFrom('\n', '\n', '\n', '\n\n', '\r\n', '\n  \n');
const markdown = fc
  .array(fc.tuple(line, ending), { maxLength: 14 })
  .chain((lines) => fc.tuple(fc.constant(lines.flat().join('')), line).map((parts) => parts.join('')));

/** React adds a preload before an image. */
const components: Components = { img: ({ src, alt }) => <span data-src={src}>{alt}</span> };

const markup = (blocks: MarkdownBlocks) =>
  [...blocks.finished, ...blocks.open].map((tree) =>
    renderToStaticMarkup(<ReactMarkdown components={components} remarkPlugins={[remarkGfm, [given, tree]]} />),
  );
function given(this: { parser?: unknown }, tree: unknown): void {
  this.parser = () => tree;
}
const whole = (text: string) =>
  renderToStaticMarkup(
    <ReactMarkdown components={components} remarkPlugins={[remarkGfm]}>
      {text}
    </ReactMarkdown>,
  );

it('renders a text that arrives in chunks like the whole text', () => {
  fc.assert(
    fc.property(markdown, fc.array(fc.nat(30), { minLength: 1, maxLength: 20 }), (text, sizes) => {
      let blocks = NO_BLOCKS;
      for (let end = 0, n = 0; end < text.length; n += 1) {
        end = Math.min(text.length, end + 1 + (sizes[n % sizes.length] ?? 0));
        blocks = markdownBlocks(text.slice(0, end), blocks);
      }
      expect(markup(blocks).join('\n')).toBe(whole(text));
    }),
    {
      numRuns: 250,
      examples: [
        ['    word\n  \n2) \nword\nword', [0]],
        ['-     word\n\n2) \nword\nword', [0]],
      ],
    },
  );
});

it('renders a text that is there at once like the whole text', () => {
  fc.assert(
    fc.property(markdown, (text) => {
      expect(markup(markdownBlocks(text)).join('\n')).toBe(whole(text));
    }),
    { numRuns: 500 },
  );
});

it('takes over the finished blocks of a text that grows', () => {
  const before = markdownBlocks('# One\n\nTwo.\n\nThree is\nbeing\n');
  const after = markdownBlocks('# One\n\nTwo.\n\nThree is\nbeing\nwritten.', before);
  expect(before.finished).toHaveLength(2);
  expect(after.finished.slice(0, 2)).toEqual(before.finished);
  expect(after.finished[0]).toBe(before.finished[0]);
});

it('parses a text with link definitions as one block, since they may change any part of it', () => {
  const { finished, open } = markdownBlocks('See [a].\n\nMore.\n\n[a]: /url\n\nThe end.\n\nReally.\n\nYes.');
  expect([finished.length, open.length]).toEqual([0, 1]);
});
