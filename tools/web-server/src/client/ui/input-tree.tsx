import css from './code.module.css';
import { Seen } from './seen.tsx';

/** Any value as a readable tree: names on the left, values on the right, list items below each other. */
export function InputTree({ value }: { value: unknown }) {
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
    <dl className={css.tree}>
      {rows.map(([name, value]) => (
        <div key={name} style={{ display: 'contents' }}>
          <dt>
            <Seen text={name.replaceAll('_', ' ')} kind="code" />
          </dt>
          <dd>
            <InputTree value={value} />
          </dd>
        </div>
      ))}
    </dl>
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
