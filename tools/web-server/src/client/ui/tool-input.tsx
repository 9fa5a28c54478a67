import { type InputChange, type ToolInput, visibleText } from '@callboard/contract';
import { Box, Text } from '@mantine/core';
import { z } from 'zod';
import { field, filePath, relativePath } from '../lib/tool-text.ts';
import css from './code.module.css';
import { CodeBlock, Diff, languageOf } from './code.tsx';
import { FactList } from './primitives.tsx';
import { Seen } from './text.tsx';

interface ToolInputProps {
  toolName: string;
  input: ToolInput;
  /** The stage's worktree. Paths inside are shown relative to it. */
  folder: string | null;
}

/** A tool's input, as readable as its kind allows. */
export function ToolInputView({ toolName, input, folder }: ToolInputProps) {
  switch (toolName) {
    case 'Bash':
      return field(input, 'command') === '' ? (
        <Other input={input} />
      ) : (
        <CodeBlock isCommand text={field(input, 'command')} />
      );
    case 'Edit':
      return (
        <>
          <FileCaption input={input} folder={folder} />
          <Diff before={field(input, 'old_string')} after={field(input, 'new_string')} />
        </>
      );
    case 'MultiEdit':
      return <ManyEdits input={input} folder={folder} />;
    case 'Write':
      return (
        <>
          <FileCaption input={input} folder={folder} />
          <CodeBlock text={field(input, 'content')} language={languageOf(filePath(input))} />
        </>
      );
    case 'Read':
      return <FileCaption input={input} folder={folder} />;
    default:
      return <Other input={input} />;
  }
}

const Edits = z.array(z.looseObject({ old_string: z.string(), new_string: z.string() }));

function ManyEdits({ input, folder }: Omit<ToolInputProps, 'toolName'>) {
  const edits = Edits.safeParse(input.edits);
  if (!edits.success) return <Other input={input} />;
  return (
    <>
      <FileCaption input={input} folder={folder} />
      {edits.data.map((edit, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: edits have no identity but their place
        <Diff key={index} before={edit.old_string} after={edit.new_string} />
      ))}
    </>
  );
}

function FileCaption({ input, folder }: Omit<ToolInputProps, 'toolName'>) {
  const path = filePath(input);
  if (path === '') return null;
  return (
    <Text size="xs" ff="monospace" c="dimmed" mb="xs" title={visibleText(path, 'command')}>
      <Seen text={relativePath(path, folder)} kind="command" />
    </Text>
  );
}

function Other({ input }: { input: ToolInput }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls has to be reached by keyboard
    <div className={css.block} tabIndex={0}>
      <InputTree value={input} />
    </div>
  );
}

/** Any value as a readable tree: names on the left, values on the right, list items below each other. */
function InputTree({ value }: { value: unknown }) {
  if (Array.isArray(value)) return <ListTree items={value} />;
  if (typeof value === 'object' && value !== null) return <RecordTree record={value} />;
  return (
    <span>
      <Seen text={typeof value === 'string' ? value : String(JSON.stringify(value))} kind="code" />
    </span>
  );
}

function RecordTree({ record }: { record: object }) {
  const rows = Object.entries(record);
  if (rows.length === 0) return <span>(nothing)</span>;
  return (
    <FactList>
      {rows.map(([name, value]) => (
        <div key={name}>
          <dt>
            <Seen text={name.replaceAll('_', ' ')} kind="code" />
          </dt>
          <dd>
            <InputTree value={value} />
          </dd>
        </div>
      ))}
    </FactList>
  );
}

function ListTree({ items }: { items: unknown[] }) {
  if (items.length === 0) return <span>(none)</span>;
  return (
    <ul>
      {items.map((item, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: items have no identity but their place
        <li key={index}>
          <InputTree value={item} />
        </li>
      ))}
    </ul>
  );
}

interface ChangedInputProps extends InputChange {
  toolName: string;
  folder: string | null;
}

/** Says that a hook changed a call, and shows what Claude wrote. */
export function ChangedInput({ toolName, hook, from, folder }: ChangedInputProps) {
  return (
    <Box my="sm" role="note" aria-label="Changed by a hook">
      <Text mb="xs">A hook changed this call{hook !== null && <HookName hook={hook} />}. Claude wrote:</Text>
      <ToolInputView toolName={toolName} input={from} folder={folder} />
    </Box>
  );
}

const HookName = ({ hook }: { hook: string }) => (
  <>
    {': '}
    <code>{visibleText(hook, 'command')}</code>
  </>
);

/** How many lines a change adds and removes: "+6 −2". What is zero is left out. */
export function LineCounts({ added, removed }: { added: number; removed: number }) {
  if (added === 0 && removed === 0) return <span>no lines changed</span>;
  return (
    <span className="figures">
      {added > 0 && <span data-tone="done">+{added}</span>}
      {added > 0 && removed > 0 && ' '}
      {removed > 0 && <span data-tone="fail">−{removed}</span>}
    </span>
  );
}
