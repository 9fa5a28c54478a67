/** A sample of Prometheus' text format, version 0.0.4. */
export interface Sample {
  name: string;
  labels: Record<string, string>;
  value: number;
}

const SAMPLE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (NaN|[+-]Inf|[-+0-9.eE]+)$/;
const LABEL = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)/y;
const OF_HISTOGRAM = /_(bucket|sum|count)$/;

/**
 * Parses a text as strictly as Prometheus does: each metric has its help and type before its samples, in one group, and no
 * sample comes twice. @throws Error naming the line
 */
export function parseMetrics(text: string): Sample[] {
  if (!text.endsWith('\n')) throw new Error('The text does not end with a line end');
  const types = new Map<string, string>();
  const seen = new Set<string>();
  const samples: Sample[] = [];
  let group = '';
  for (const line of text.trimEnd().split('\n')) {
    if (line === '') continue;
    const [, word, metric = '', rest = ''] = /^# (HELP|TYPE) (\S+) (.+)$/.exec(line) ?? [];
    if (word === 'HELP') {
      if (types.has(metric) || rest === '') throw new Error(`Two groups, or no help: ${line}`);
      group = metric;
    } else if (word === 'TYPE') {
      if (group !== metric || types.has(metric)) throw new Error(`A type outside of its group: ${line}`);
      types.set(metric, rest);
    } else {
      const sample = parseSample(line);
      const base = types.get(group) === 'histogram' ? sample.name.replace(OF_HISTOGRAM, '') : sample.name;
      if (base !== group || !types.has(group)) throw new Error(`A sample outside of its group: ${line}`);
      const key = line.slice(0, line.lastIndexOf(' '));
      if (seen.has(key)) throw new Error(`A sample twice: ${line}`);
      seen.add(key);
      samples.push(sample);
    }
  }
  return samples;
}

function parseSample(line: string): Sample {
  const [, name, inside = '', value] = SAMPLE.exec(line) ?? [];
  if (name === undefined) throw new Error(`Not a sample: ${line}`);
  const labels: Record<string, string> = {};
  LABEL.lastIndex = 0;
  while (LABEL.lastIndex < inside.length) {
    const [, label = '', text = ''] = LABEL.exec(inside) ?? [];
    if (label === '') throw new Error(`Not labels: ${line}`);
    labels[label] = text;
  }
  return { name, labels, value: Number(value?.replace('Inf', 'Infinity')) };
}

/** Returns the value of the one sample with this name and these labels; undefined if there is none. */
export const sampleValue = (samples: readonly Sample[], name: string, labels: Record<string, string> = {}) =>
  samples.find(
    (one) => one.name === name && Object.entries(labels).every(([label, text]) => one.labels[label] === text),
  )?.value;
