import type { CommandDefinition, Method } from '../command.ts';
import { type CommandType, commands } from '../commands.ts';

/** The commands that have a REST route. */
export type RoutedCommand = {
  [T in CommandType]: (typeof commands)[T] extends { route: string } ? T : never;
}[CommandType];

export interface Route {
  method: Method;
  /** Each `:name` is a field of the command. The other fields go into the query of a GET, else into the body. */
  path: string;
  /** The field that is the whole body. */
  body?: string;
}

const routeOf = ({ route, body }: CommandDefinition): [] | [Route] => {
  if (route === undefined) return [];
  const [method, path = ''] = route.split(' ');
  return [{ method: method as Method, path, ...(body !== undefined && { body }) }]; // the type of `route` names the methods
};

/** The REST route of each command that has one. */
export const routes = Object.fromEntries(
  Object.entries(commands).flatMap(([type, definition]) => routeOf(definition).map((route) => [type, route])),
) as { readonly [T in RoutedCommand]: Route }; // Object.fromEntries loses the names

/** Routes of the web server itself, which are no commands or take another form. */
export const serviceRoutes = {
  health: { method: 'GET', path: '/api/health' },
  logIn: { method: 'POST', path: '/api/login' },
  loginNonce: { method: 'GET', path: '/api/login/nonce' },
  loginProof: { method: 'POST', path: '/api/login/proof' },
  logOut: { method: 'POST', path: '/api/logout' },
  events: { method: 'GET', path: '/api/events' },
  watch: { method: 'PUT', path: '/api/events/:streamId/watch' },
} as const satisfies Record<string, Route>;

/** Returns the fields in a route's path. */
export const pathFields = ({ path }: Route): string[] => [...path.matchAll(/:(\w+)/g)].map(([, name]) => name ?? '');

/** Returns the URL and body of a command as an HTTP request. */
export function toRequest(route: Route, input: object): { url: string; body: unknown } {
  const fields: [string, unknown][] = Object.entries(input);
  const named = pathFields(route);
  const values = new Map(fields);
  const url = route.path.replaceAll(/:(\w+)/g, (_, name: string) => encodeURIComponent(String(values.get(name))));
  const rest = fields.filter(([name, value]) => !named.includes(name) && value !== undefined);
  if (route.method !== 'GET') {
    const whole = Object.fromEntries(rest);
    return { url, body: route.body === undefined ? whole : whole[route.body] };
  }
  const query = new URLSearchParams(rest.map(([name, value]) => [name, String(value)]));
  return { url: query.size === 0 ? url : `${url}?${query}`, body: undefined };
}
