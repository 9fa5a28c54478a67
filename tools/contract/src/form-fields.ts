import { z } from 'zod';
import type { ToolInput } from './requests.ts';
import { visibleText } from './visible.ts';

/** The value of a form's field while a person fills it in. */
export type FieldValue = string | boolean;

const Property = z.looseObject({
  type: z.string().optional(),
  title: z.string().optional(),
  description: z.string().optional(),
  enum: z.array(z.string()).optional(),
  enumNames: z.array(z.string()).optional(),
  default: z.union([z.string(), z.number(), z.boolean()]).optional(),
});
const Schema = z.looseObject({
  properties: z.record(z.string(), Property),
  required: z.array(z.string()).default([]),
});

export interface FormField {
  name: string;
  label: string;
  description: string | undefined;
  kind: 'text' | 'number' | 'flag' | 'choice';
  choices: { value: string; label: string }[];
  required: boolean;
  initial: FieldValue;
}

/** Returns the fields of an MCP server's form; empty if its schema cannot be read. */
export function fieldsOf(input: ToolInput): FormField[] {
  const schema = Schema.safeParse(input.requested_schema);
  if (!schema.success) return [];
  const { properties, required } = schema.data;
  return Object.entries(properties).map(([name, property]) => ({
    name,
    label: visibleText(property.title ?? name, 'prose'),
    description: property.description === undefined ? undefined : visibleText(property.description, 'prose'),
    kind: kindOf(property),
    choices: (property.enum ?? []).map((value, i) => ({
      value,
      label: visibleText(property.enumNames?.[i] ?? value, 'prose'),
    })),
    required: required.includes(name),
    initial: property.type === 'boolean' ? property.default === true : String(property.default ?? ''),
  }));
}

function kindOf({ type, enum: values }: z.infer<typeof Property>): FormField['kind'] {
  if (values !== undefined) return 'choice';
  if (type === 'boolean') return 'flag';
  return type === 'number' || type === 'integer' ? 'number' : 'text';
}

type Values = Readonly<Record<string, FieldValue>>;

/** Returns the content to send, without empty fields. */
export function contentOf(fields: readonly FormField[], values: Values): ToolInput {
  const filled = fields.map(({ name, kind, initial }) => {
    const value = values[name] ?? initial;
    return [name, kind === 'number' && value !== '' ? Number(value) : value] as const;
  });
  return Object.fromEntries(filled.filter(([, value]) => value !== ''));
}

export const isFilledIn = (fields: readonly FormField[], values: Values): boolean =>
  fields.every(({ name, kind, required, initial }) => {
    const value = values[name] ?? initial;
    if (value === '') return !required;
    return fieldProblem(kind, value) === null;
  });

/** Returns the problem with a field's value as a sentence; null if there is none. */
export const fieldProblem = (kind: FormField['kind'], value: FieldValue): string | null =>
  kind === 'number' && Number.isNaN(Number(value)) ? 'This is not a number.' : null;
