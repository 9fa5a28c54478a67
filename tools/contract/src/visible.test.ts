import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hiddenWarning, type TextKind, visiblePieces, visibleText } from './text.ts';

const KINDS: TextKind[] = ['command', 'code', 'prose'];

/** Kept apart from the code under test: what nobody can see, by names of the Unicode standard. */
const INVISIBLE = [
  ...[0x0, 0x7, 0x8, 0xd, 0x1b, 0x7f, 0x85, 0x9b, 0xad, 0x34f, 0x61c, 0x115f, 0x1160, 0x17b4, 0x17b5, 0x180e],
  ...[0x200b, 0x200c, 0x200d, 0x200e, 0x200f, 0x2028, 0x2029, 0x202a, 0x202b, 0x202c, 0x202d, 0x202e, 0x2060],
  ...[0x2061, 0x2062, 0x2063, 0x2064, 0x2066, 0x2067, 0x2068, 0x2069, 0x206a, 0x206f, 0x2800, 0x3164, 0xfe00],
  ...[0xfe0f, 0xfeff, 0xffa0, 0xfff9, 0xfffb, 0x1bca0, 0x1d159, 0x1d173, 0xe0001, 0xe0020, 0xe0061, 0xe007f, 0xe0100],
  ...[0xe01ef, 0xe000, 0xf0000, 0xfffe, 0xdc80, 0xd800],
].map((code) => String.fromCodePoint(code));
const SPACES = ['\u00a0', '\u1680', '\u2000', '\u2009', '\u202f', '\u205f', '\u3000'];

const TEXTS = [
  'rm',
  ' -rf ',
  'é',
  '漢字',
  'שלום',
  'مرحبا',
  'हिन्दी',
  '⚠',
  '👨',
  '1',
  '\n',
  '\t',
  '.',
  '/',
  'a\u0301',
  '🏴',
];

const anyText = fc
  .array(fc.oneof(fc.constantFrom(...INVISIBLE, ...SPACES), fc.constantFrom(...TEXTS), fc.string({ unit: 'binary' })), {
    maxLength: 20,
  })
  .map((parts) => parts.join(''));

const plainOf = (text: string, kind: TextKind) =>
  visiblePieces(text, kind)
    .filter((piece) => piece.kind !== 'hidden')
    .map((piece) => piece.text)
    .join('');

describe('shows every hidden character', () => {
  it.each(KINDS)('of any single character, as a %s', (kind) => {
    for (const character of INVISIBLE) {
      for (const text of [
        character,
        `a${character}`,
        `${character}b`,
        `rm${character} -rf`,
        `${character}${character}`,
      ]) {
        const plain = plainOf(text, kind);
        expect(plain.includes(character), `${character.codePointAt(0)?.toString(16)} in ${kind}`).toBe(false);
      }
      expect(hiddenWarning([[`a${character}b`, 'command']])).not.toBeNull();
    }
  });

  it('of any text that is a command or code', () => {
    const invisible = new RegExp(
      `[${INVISIBLE.filter((one) => one.length === 1 || one > '\udfff').join('')}]|\\p{Cf}|\\p{DI}|(?![\\t\\n])\\p{C}`,
      'u',
    );
    const numberSigns = /[\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\u{110bd}\u{110cd}]/gu;
    fc.assert(
      fc.property(anyText, fc.constantFrom<TextKind>('command', 'code'), (text, kind) => {
        const pieces = visiblePieces(text, kind).filter((piece) => piece.kind !== 'hidden');
        for (const piece of pieces) expect(piece.text.replace(numberSigns, '')).not.toMatch(invisible);
      }),
      { numRuns: 1000 },
    );
  });

  it('of prose, but what belongs to its letters', () => {
    const never = ['\\u00ad', '\\u034f', '\\u061c', '\\u115f', '\\u1160', '\\u200e', '\\u200f', '[\\u2028-\\u202e]'];
    const also = ['[\\u2060-\\u206f]', '\\u2800', '\\u3164', '\\ufeff', '\\uffa0', '\\u{e0001}'];
    const marks = new RegExp([...never, ...also, '(?![\\t\\n])\\p{Cc}', '\\p{Cs}', '\\p{Co}'].join('|'), 'u');
    const runs = /(?:\u200b|\u200c|\u200d|\ufe0e|\ufe0f){3,}/u;
    fc.assert(
      fc.property(anyText, (text) => {
        expect(plainOf(text, 'prose')).not.toMatch(marks);
        // One joiner or selector for a letter at most: no message can be hidden in a run of them.
        expect(plainOf(text, 'prose')).not.toMatch(runs);
      }),
      { numRuns: 1000 },
    );
  });

  it('without changing anything else: replacing the codes restores the text', () => {
    const back = (code: string) => {
      const [, byte, point] = /^(?:\\x(..)|U\+(.+)|\\r)$/.exec(code) ?? [];
      if (byte !== undefined) return Number.parseInt(byte, 16);
      return point === undefined ? 13 : Number.parseInt(point, 16);
    };
    fc.assert(
      fc.property(anyText, fc.constantFrom<TextKind>('command', 'code'), (text, kind) => {
        const codes = visiblePieces(text, kind).map((piece) =>
          piece.kind === 'hidden' ? back(piece.text) : piece.text,
        );
        const whole = codes.map((one) => {
          if (typeof one === 'string') return one;
          // A byte that is not UTF-8 has the code of the byte.
          return one >= 0xa0 && one <= 0xff && one !== 0xad && one !== 0xa0
            ? String.fromCharCode(0xdc00 + one)
            : String.fromCodePoint(one);
        });
        expect(whole.join('').replaceAll(/[\udc80-\udcff\x80-\x9f]/g, '?')).toBe(
          text.replaceAll(/[\udc80-\udcff\x80-\x9f]/g, '?'),
        );
      }),
    );
  });
});

describe('leaves ordinary text unchanged', () => {
  const PROSE = [
    'Plain words, “quotes” — and dashes…',
    'العربية: مرحبا بالعالم، كيف الحال؟',
    'می‌خواهم کتاب‌ها را ببینم',
    'עברית: שלום עולם',
    'हिन्दी में क्‍षेत्र और श्री‌मान',
    'বাংলা র‍্যাব',
    'தமிழ், తెలుగు, ಕನ್ನಡ, മലയാളം ന്‍, සිංහල ශ්‍රී',
    'ខ្មែរ​ភាសា និង ไทย ลาว မြန်မာ',
    '中文，日本語　テキスト、한국어',
    'Ελληνικά, Русский, Tiếng Việt, e\u0301',
    '⚠️ ✅ 👨‍👩‍👧‍👦 👍🏽 🏳️‍🌈 1️⃣ 🇩🇪 🏴󠁧󠁢󠁥󠁮󠁧󠁿 ©',
    'a\u00a0b 10\u202f000',
  ];
  it.each(PROSE)('%s', (text) => {
    expect(visibleText(text, 'prose')).toBe(text);
    expect(hiddenWarning([[text, 'prose']])).toBeNull();
    // In a file it is no surprise, though its parts are told.
    expect(hiddenWarning([[text, 'code']])).toBeNull();
    expect(visibleText(text, 'code').replaceAll(/⟨[^⟩]*⟩/g, '').length).toBeGreaterThan(text.length / 3);
  });

  it('code without anything hidden, in every kind', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme-ascii' }), fc.constantFrom(...KINDS), (text, kind) => {
        expect(visibleText(text, kind)).toBe(text);
        expect(hiddenWarning([[text, kind]])).toBeNull();
      }),
    );
  });
});

it('shows each hidden character as a code, and describes them in a warning', () => {
  expect(visibleText('echo \u202etxt.exe\u200b\r', 'command')).toBe('echo ⟨U+202E⟩txt.exe⟨U+200B⟩⟨\\r⟩');
  expect(visibleText('caf\udce9\u001b[0m', 'code')).toBe('caf⟨\\xe9⟩⟨\\x1b⟩[0m');
  expect(
    hiddenWarning([
      ['a\u202eb\u2066', 'code'],
      ['c\u200bd', 'prose'],
    ]),
  ).toBe(
    'Hidden characters: 2 text direction marks, 1 zero-width character. They can make text look different from what it is, and are shown as codes.',
  );
});

it('accepts line endings, a byte order mark and other encodings in files, but not in commands', () => {
  const text = '\ufeffa\r\nb\udce9\r\n';
  expect(visibleText(text, 'code')).toBe('⟨U+FEFF⟩a⟨\\r⟩\nb⟨\\xe9⟩⟨\\r⟩\n');
  expect(hiddenWarning([[text, 'code']])).toBeNull();
  expect(hiddenWarning([['a\r\n', 'command']])).toContain('1 carriage return');
  expect(hiddenWarning([['a\rb', 'code']])).toContain('1 carriage return');
  expect(visibleText('a\r\nb', 'prose')).toBe('a\nb');
});

it('isolates each right-to-left word in code', () => {
  expect(visiblePieces('a == "שלום" + 1', 'code')).toEqual([
    { kind: 'plain', text: 'a == "' },
    { kind: 'right-to-left', text: 'שלום' },
    { kind: 'plain', text: '" + 1' },
  ]);
});
