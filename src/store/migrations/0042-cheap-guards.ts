/** A statement for PostgreSQL only, on one line, so that the semicolons inside a function do not end it. */
const postgres = (statement: string) => `/* postgres: ${statement.replaceAll(/\s+/g, ' ').trim()} */;\n`;

const TREE_OF = (agent: string) => `(select tree_id from agents where id = ${agent})`;

/** `find` reads what `keys` and `after` need, in one query. A key that is null needs no lock. */
const trigger = (
  name: string,
  {
    declare = '',
    find = '',
    keys,
    after = '',
  }: { declare?: string; find?: string; keys: readonly string[]; after?: string },
) =>
  postgres(`create or replace function ${name}() returns trigger language plpgsql as $$
    declare held text := coalesce(current_setting('substrat.locks', true), ''); ${declare} begin
    ${find}
    if held <> '*' and (held = '' ${keys.map((key) => `or position(' ' || ${key} || ' ' in held) = 0`).join(' ')}) then
      perform must_hold(${keys.length > 0 ? keys.join(', ') : 'null'});
    end if;
    ${after} return new; end $$`);

/**
 * Numbering events reads only those without a number. The guards of 0030 for the tables that most writes change, without a query where none is needed: a function that is
 * called by `perform` costs as much as a statement, an expression nearly nothing. They refuse the same as before.
 */
export const cheapGuards = [
  postgres(`create or replace function must_hold(variadic wanted text[]) returns void language plpgsql as $$
    declare held text := coalesce(current_setting('substrat.locks', true), ''); key text; missing text; begin
    if held = '*' then return; end if;
    if held = '' then
      raise exception using errcode = 'SU002', message = 'This store belongs to a newer Substrat, which locks what it changes. Update this one.';
    end if;
    foreach key in array wanted loop
      if key is not null and position(' ' || key || ' ' in held) = 0 then missing := concat_ws(' ', missing, key); end if;
    end loop;
    if missing is not null then raise exception using errcode = 'SU001', message = 'a write needs more locks and starts again with them', detail = missing; end if; end $$`),
  trigger('guard_tree', { keys: [`'t:' || new.id`] }),
  trigger('guard_run', {
    keys: [`'t:' || new.tree_id`],
    after: `if new.seq = 0 then new.seq := nextval('numbers'); end if;`,
  }),
  trigger('guard_delivery', {
    declare: 'tree text; number bigint;',
    find: `select ${TREE_OF('new.agent_id')}, case when new.seq = 0 then (select seq from messages where id = new.message_id) end
      into tree, number;`,
    keys: [`'t:' || tree`],
    after: 'new.seq := coalesce(number, new.seq);',
  }),
  trigger('guard_request', {
    declare: 'asker text; recipient text; number bigint;',
    find: `select ${TREE_OF('new.asker_id')}, ${TREE_OF('new.recipient_id')},
        case when new.seq = 0 then (select seq from messages where id = new.message_id) end
      into asker, recipient, number;`,
    keys: [`'t:' || asker`, `'t:' || recipient`],
    after: 'new.seq := coalesce(number, new.seq);',
  }),
  trigger('guard_message', {
    keys: [],
    after: `if new.seq = 0 and pg_advisory_xact_lock(hashtextextended('c:' || new.channel_id, 0)) is not null then
        new.seq := nextval('numbers');
      end if;`,
  }),
  // Whatever the statistics say, the events without a number are found by their index.
  ...['seqscan', 'hashjoin', 'mergejoin'].map((way) =>
    postgres(`alter function number_events() set enable_${way} = off`),
  ),
  postgres('drop trigger guard on events'),
  postgres(`create trigger guard before insert on events for each statement
    when (coalesce(current_setting('substrat.locks', true), '') = '') execute function guard_table()`),
].join('');
