import { expect, it } from 'vitest';
import { resultCode } from './tool-result-text.ts';

it('takes the line numbers off what was read', () => {
  expect(resultCode('Read', '    7→a\n    8→\n    9→\tb→c')).toEqual({ code: 'a\n\n\tb→c', firstLine: 7 });
  expect(resultCode('Read', '1\ta\n2\tb\n\n<system-reminder>\nmind\n</system-reminder>')).toEqual({
    code: 'a\nb',
    firstLine: 1,
  });
});

it('leaves everything else as it is', () => {
  expect(resultCode('Read', 'File does not exist.').code).toBe('File does not exist.');
  expect(resultCode('Bash', '1\ta')).toEqual({ code: '1\ta', firstLine: null });
  expect(resultCode('Edit', '<tool_use_error>No\nmatch</tool_use_error>').code).toBe('No\nmatch');
});
