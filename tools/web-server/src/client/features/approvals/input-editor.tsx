import { hiddenWarning, type PendingRequest } from '@callboard/contract';
import { Group, Stack, Text, Textarea } from '@mantine/core';
import clsx from 'clsx';
import { type KeyboardEvent, useEffect, useEffectEvent, useId, useRef } from 'react';
import { count } from '../../lib/format.ts';
import { filePath } from '../../lib/tool-text.ts';
import codeCss from '../../ui/code.module.css';
import { languageOf } from '../../ui/code.tsx';
import { Highlighted } from '../../ui/highlighted.tsx';
import { isComposing } from '../../ui/shortcuts.tsx';
import { HiddenNote } from '../../ui/text.tsx';
import { editedTexts, editorKind, editProblem, withText } from './edited-input.ts';
import css from './input-editor.module.css';

/** The first Escape leaves the field, with what was typed; the next one is for what is around it. */
const LEAVES_ON_ESCAPE = {
  'data-mantine-stop-propagation': true,
  onKeyDown(event: KeyboardEvent<HTMLTextAreaElement>) {
    if (event.key !== 'Escape' || isComposing(event.nativeEvent)) return;
    event.preventDefault();
    event.stopPropagation();
    event.currentTarget.blur();
    event.currentTarget.closest<HTMLElement>('[tabindex="-1"]')?.focus({ preventScroll: true });
  },
};

interface InputEditorProps {
  request: PendingRequest;
  edited: string;
  disabled: boolean;
  /** Whether a person opened it just now. */
  takesFocus: boolean;
  /** The server's objection to the changed input. */
  refusal: string | null;
  change: (edited: string) => void;
}

/** Edits what a call would do before it is allowed: the command, the new text of a file, or any other input as JSON. */
export default function InputEditor({ request, edited, disabled, takesFocus, refusal, change }: InputEditorProps) {
  const kind = editorKind(request);
  if (kind === 'texts') {
    const texts = editedTexts(request, edited);
    return (
      <Stack gap="md">
        {texts.map((text, place) => (
          <CodeEditor
            // biome-ignore lint/suspicious/noArrayIndexKey: texts have no identity but their place
            key={place}
            label={
              texts.length === 1
                ? (TEXT_LABEL[request.toolName] ?? 'New text')
                : `New text ${place + 1} of ${texts.length}`
            }
            text={text}
            language={languageOf(filePath(request.input))}
            disabled={disabled}
            takesFocus={takesFocus && place === 0}
            change={(next) => change(withText(request, edited, place, next))}
          />
        ))}
        {refusal !== null && (
          <Text size="row" mt="xs" data-tone="fail" role="alert">
            {refusal}
          </Text>
        )}
      </Stack>
    );
  }
  const command = kind === 'command';
  if (command)
    return (
      <CodeEditor
        label="Command"
        text={edited}
        language="bash"
        disabled={disabled}
        takesFocus={takesFocus}
        problem={editProblem(request, edited)?.message ?? refusal}
        change={change}
      />
    );
  return (
    <>
      <Textarea
        label="Input as JSON"
        description="The whole input of the call."
        value={edited}
        error={editProblem(request, edited)?.message ?? refusal ?? undefined}
        disabled={disabled}
        autosize
        minRows={4}
        maxRows={16}
        spellCheck={false}
        autoCapitalize="off"
        autoComplete="off"
        styles={{ input: { fontFamily: 'var(--font-code)', fontSize: 13, color: 'var(--text)' } }}
        {...LEAVES_ON_ESCAPE}
        onChange={(event) => change(event.currentTarget.value)}
      />
      <HiddenNote texts={[[edited, 'code']]} />
    </>
  );
}

const TEXT_LABEL: Readonly<Record<string, string>> = { Write: 'Content of the file', NotebookEdit: 'New cell' };

interface CodeEditorProps {
  label: string;
  text: string;
  language: string | null;
  disabled: boolean;
  takesFocus: boolean;
  problem?: string | null;
  change: (text: string) => void;
}

/**
 * A text box over the same text in colours: the box has the caret and the selection, the text below gives it its height. Hidden
 * characters are shown as codes, which are wider; a text with some has no colours, and a note names them.
 */
function CodeEditor({ label, text, language, disabled, takesFocus, problem = null, change }: CodeEditorProps) {
  const id = useId();
  const box = useRef<HTMLTextAreaElement>(null);
  const focus = useEffectEvent(() => {
    if (!takesFocus) return;
    box.current?.focus();
    box.current?.setSelectionRange(text.length, text.length);
  });
  useEffect(() => focus(), []);
  const kind = language === 'bash' ? 'command' : 'code';
  const isPlain = hiddenWarning([[text, kind]]) !== null;
  return (
    <div>
      <Group justify="space-between" mb="xs" c="dimmed" fz="xs">
        <label htmlFor={id}>{label}</label>
        <span>{count(text.replace(/\n$/, '').split('\n').length, 'line')}</span>
      </Group>
      <div className={clsx(codeCss.block, css.editor)} data-plain={isPlain || undefined}>
        <pre aria-hidden>
          {isPlain ? `${text}\n` : <Highlighted text={`${text}\n`} language={language} kind={kind} />}
        </pre>
        <textarea
          ref={box}
          id={id}
          value={text}
          disabled={disabled}
          spellCheck={false}
          autoCapitalize="off"
          autoComplete="off"
          aria-invalid={problem !== null || undefined}
          aria-describedby={problem === null ? undefined : `${id}problem`}
          {...LEAVES_ON_ESCAPE}
          onChange={(event) => change(event.currentTarget.value)}
        />
      </div>
      {problem !== null && (
        <Text size="row" mt="xs" data-tone="fail" id={`${id}problem`}>
          {problem}
        </Text>
      )}
      <HiddenNote texts={[[text, kind]]} />
    </div>
  );
}
