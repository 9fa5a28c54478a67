import type { ToolInput } from '@callboard/contract';
import { z } from 'zod';
import { ownProperty } from '../lib/own-property.ts';

/** The flat forms that MCP elicitation allows: one level of strings, numbers, booleans and choices. */
const FormSchema = z.looseObject({
  properties: z.record(
    z.string(),
    z.looseObject({ type: z.string().optional(), enum: z.array(z.unknown()).optional() }),
  ),
  required: z.array(z.string()).optional(),
});

/** What is wrong with the content of a form, in words; null when nothing is. */
export function formContentProblem(requestedSchema: unknown, content: ToolInput): string | null {
  const form = FormSchema.safeParse(requestedSchema);
  if (!form.success) return null; // nothing is known of the form; the server that asked will judge
  const { properties, required = [] } = form.data;
  const missing = required.find((name) => ownProperty(content, name) === undefined || content[name] === '');
  if (missing !== undefined) return `"${missing}" is required.`;
  for (const [name, value] of Object.entries(content)) {
    const property = ownProperty(properties, name);
    if (property === undefined) return `"${name}" is not a field of this form.`;
    if (!fits(property, value)) return `"${name}" must be ${describe(property)}.`;
  }
  return null;
}

type Property = z.infer<typeof FormSchema>['properties'][string];

function fits({ type, enum: choices }: Property, value: unknown): boolean {
  if (choices !== undefined) return choices.includes(value);
  switch (type) {
    case 'string':
      return typeof value === 'string';
    case 'number':
      return typeof value === 'number' && Number.isFinite(value);
    case 'integer':
      return Number.isInteger(value);
    case 'boolean':
      return typeof value === 'boolean';
    default:
      return true;
  }
}

function describe({ type, enum: choices }: Property): string {
  if (choices !== undefined) return `one of ${choices.map((choice) => JSON.stringify(choice)).join(', ')}`;
  return type === 'integer' ? 'a whole number' : `a ${type ?? 'value'}`;
}
