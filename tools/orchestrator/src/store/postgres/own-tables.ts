/**
 * The tables of a shared store that hold none of Callboard's data. `cluster_state` is one row, which each write transaction
 * locks: the numbers of the newest commit and of the newest event, and the version of the schema. `writers` says which was
 * the last commit of each process, so that one whose connection was cut during a commit learns what became of it.
 * `given_rows` tells machines which rows of the outbox were given to their launches. `server_life` is unlogged, so it is
 * empty after a crash of the server and after a fail-over: commits may be missing then. `server_starts` keeps the number of
 * the newest commit that was left at each start of the server: the numbers behind it are lost, and never used again.
 * What begins with `search_` is the index of the search, which is derived, and made by whoever searches first.
 */
export const OWN_TABLES: readonly string[] = [
  ...['cluster_state', 'writers', 'given_rows', 'server_life', 'server_starts'],
  ...['search_state', 'search_stages', 'search_entries', 'search_parts'],
];

/** Creates what is missing. `callboard_json` replaces the escapes of NUL and of halves of pairs, which PostgreSQL refuses to read. */
export const ownStatements: readonly string[] = [
  `create table if not exists cluster_state (
     id bigint primary key check (id = 1), "commit" bigint not null, seq bigint not null, version bigint not null)
     with (fillfactor = 20)`,
  `insert into cluster_state (id, "commit", seq, version) values (1, 0, 0, 0) on conflict do nothing`,
  `create table if not exists writers (
     id text primary key, "commit" bigint not null, at timestamptz not null default now()) with (fillfactor = 20)`,
  `create table if not exists given_rows (
     "commit" bigint not null, row_id text not null, launch_id text not null, at timestamptz not null default now(),
     primary key ("commit", row_id))`,
  `create unlogged table if not exists server_life (identity text not null)`,
  `create table if not exists server_starts (recovered bigint primary key)`,
  `create or replace function callboard_json(document text) returns json language sql immutable parallel safe as $$
     select case when strpos(document, '\\u0000') > 0 or strpos(document, '\\ud') > 0
       then regexp_replace(document, '(?<!\\\\)((?:\\\\\\\\)*)\\\\u(?:0000|d[89a-f][0-9a-f]{2})', '\\1\\\\ufffd', 'g')
       else document end::json $$`,
];
