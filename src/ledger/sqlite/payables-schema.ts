/**
 * The migration of the SQLite schema for payables and outgoing transactions.
 *
 * Final payments wait in `ripening` for accrual. `due` is 0, or the time of the next attempt for a postponed payment. A
 * share stores the rate of its accrual. The spending of payers is summed by hour, and the payables by payee and by
 * role, in the transaction of the change. An index of the payees that can be paid at once finds the highest amounts.
 * Money is text, so the longer of two amounts is the larger. Parked payees are found by the end of their parking time.
 */
export const duesStep = `
  ALTER TABLE payments ADD COLUMN refunded_at INTEGER;
  CREATE TABLE ripening (tx BLOB PRIMARY KEY, paid_at INTEGER NOT NULL, due INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  CREATE INDEX ripening_due ON ripening (due, paid_at, tx);
  CREATE TABLE accruals (
    number INTEGER PRIMARY KEY,
    tx BLOB NOT NULL UNIQUE CHECK (length(tx) = 64),
    at INTEGER NOT NULL,
    recipient TEXT NOT NULL,
    payer TEXT NOT NULL,
    endpoint TEXT NOT NULL,
    token TEXT NOT NULL,
    units TEXT NOT NULL,
    paid_at INTEGER NOT NULL,
    rates TEXT,
    rules TEXT NOT NULL,
    developer TEXT NOT NULL,
    spent TEXT NOT NULL,
    worth TEXT NOT NULL,
    whole TEXT NOT NULL,
    rate TEXT NOT NULL,
    why TEXT NOT NULL
  ) STRICT;
  CREATE INDEX accruals_payer ON accruals (payer, paid_at, worth) WHERE why = '';
  CREATE TABLE spendings (
    payer TEXT NOT NULL,
    at INTEGER NOT NULL,
    worth TEXT NOT NULL,
    PRIMARY KEY (payer, at)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE shares (
    role TEXT NOT NULL,
    payee TEXT NOT NULL,
    number INTEGER NOT NULL REFERENCES accruals (number),
    units TEXT NOT NULL,
    rate TEXT NOT NULL,
    PRIMARY KEY (role, payee, number)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX shares_number ON shares (number);
  CREATE TABLE payees (
    role TEXT NOT NULL,
    payee TEXT NOT NULL,
    accrued TEXT NOT NULL,
    owed TEXT NOT NULL CHECK (owed NOT LIKE '-%'),
    reserved TEXT NOT NULL CHECK (reserved NOT LIKE '-%'),
    paid TEXT NOT NULL,
    upto INTEGER NOT NULL,
    why TEXT NOT NULL DEFAULT '',
    parked_until INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (role, payee)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX payees_due ON payees (length(owed) DESC, owed DESC, role, payee)
    WHERE reserved = '0' AND owed <> '0' AND parked_until = 0;
  CREATE INDEX payees_parked ON payees (parked_until) WHERE reserved = '0' AND owed <> '0' AND parked_until > 0;
  CREATE TABLE role_sums (
    role TEXT PRIMARY KEY,
    payees INTEGER NOT NULL,
    accrued TEXT NOT NULL,
    owed TEXT NOT NULL,
    reserved TEXT NOT NULL,
    paid TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE reward_rules (id TEXT PRIMARY KEY, text TEXT NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE verifications (
    host TEXT NOT NULL,
    begins INTEGER NOT NULL,
    ends INTEGER NOT NULL,
    wallet TEXT NOT NULL,
    revoked INTEGER NOT NULL CHECK (revoked IN (0, 1)),
    PRIMARY KEY (host, begins)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE dispatches (
    id TEXT PRIMARY KEY,
    kind TEXT NOT NULL CHECK (kind IN ('payout', 'conversion', 'refund')),
    lane TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('planned', 'signed', 'landed', 'dropped')),
    version INTEGER NOT NULL,
    at INTEGER NOT NULL,
    changed_at INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    signature TEXT,
    last_valid INTEGER,
    signed_slot INTEGER,
    sealed TEXT NOT NULL,
    slot INTEGER NOT NULL,
    why TEXT NOT NULL,
    about TEXT NOT NULL,
    sent TEXT NOT NULL,
    voids BLOB
  ) STRICT, WITHOUT ROWID;
  CREATE UNIQUE INDEX dispatches_under_way ON dispatches (lane) WHERE lane <> '' AND state IN ('planned', 'signed');
  CREATE UNIQUE INDEX dispatches_refund ON dispatches (lane) WHERE kind = 'refund' AND state <> 'dropped';
  CREATE INDEX dispatches_lane ON dispatches (lane, at, id) WHERE lane <> '' AND state <> 'dropped';
  CREATE INDEX dispatches_at ON dispatches (at, id);
  CREATE INDEX dispatches_kind ON dispatches (kind, at, id);
  CREATE INDEX dispatches_state ON dispatches (state, at, id);
  CREATE INDEX dispatches_both ON dispatches (kind, state, at, id);
  CREATE TABLE payout_lines (
    dispatch TEXT NOT NULL REFERENCES dispatches (id),
    place INTEGER NOT NULL,
    at INTEGER NOT NULL,
    role TEXT NOT NULL,
    payee TEXT NOT NULL,
    after INTEGER NOT NULL,
    upto INTEGER NOT NULL,
    gross TEXT NOT NULL,
    units TEXT NOT NULL,
    opening TEXT NOT NULL,
    PRIMARY KEY (dispatch, place)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX payout_lines_payee ON payout_lines (role, payee, at, dispatch);
  `

/**
 * Indexes for two lookups: whether a payment at its registration is being refunded, and the landed amount that the cap
 * counts.
 */
export const voidsStep = `
  CREATE UNIQUE INDEX dispatches_voids ON dispatches (voids) WHERE voids IS NOT NULL AND state <> 'dropped';
  CREATE INDEX dispatches_changed ON dispatches (kind, state, changed_at);
  `

const grains = `VALUES ('all', 0, 0), ('endpoint', 0, 1), ('hour', 3600000, 0), ('hour_endpoint', 3600000, 1),
  ('day_endpoint', 86400000, 1)`
const low = (sum: string) => `CAST(substr(${sum}, max(length(${sum}) - 11, 1)) AS INTEGER)`
const halves = (sum: string, name: string) =>
  `sum(CAST(substr(${sum}, 1, length(${sum}) - 12) AS INTEGER)) + sum(${low(sum)}) / 1000000000000 AS ${name}_hi,
    sum(${low(sum)}) % 1000000000000 AS ${name}_lo`
const setRefunded = `DO UPDATE SET refunded_hi = excluded.refunded_hi, refunded_lo = excluded.refunded_lo,
    refunded_worth_hi = excluded.refunded_worth_hi, refunded_worth_lo = excluded.refunded_worth_lo`

/**
 * Rates are in force from their time until the next rates of the same feed. A token without a rate in an entry has none
 * from then on.
 *
 * Refunds store their payment and amount, so that the books can subtract them. This step adds the landed refunds to the
 * books. \`signature_bytes\` and \`refunded_worth\` are functions of \`migrate\`.
 */
export const netStep = `
  ALTER TABLE dispatches ADD COLUMN payment BLOB;
  UPDATE dispatches SET payment = signature_bytes(told ->> 'payment'), sent = told ->> 'units'
  FROM (SELECT id AS named, iif(json_valid(text), text, '{}') AS told
    FROM (SELECT id, json_extract('"' || about || '"', '$') AS text FROM dispatches WHERE kind = 'refund'))
  WHERE id = named AND told ->> 'payment' IS NOT NULL AND told ->> 'units' IS NOT NULL;
  ${['rollups', 'payers']
    .flatMap((table) =>
      ['refunded_hi', 'refunded_lo', 'refunded_worth_hi', 'refunded_worth_lo'].map(
        (name) => `ALTER TABLE ${table} ADD COLUMN ${name} INTEGER NOT NULL DEFAULT 0;`,
      ),
    )
    .join(' ')}
  CREATE TEMP TABLE sent_back AS
    SELECT changed_at AS at, endpoint, payer, token, sent, refunded_worth(worth, sent, received) AS worth
    FROM dispatches JOIN payments ON payments.tx = dispatches.payment
    WHERE kind = 'refund' AND dispatches.state = 'landed' AND payments.state <> 'late';
  WITH grains (grain, ms, by_endpoint) AS (${grains})
  INSERT INTO rollups (grain, at, endpoint, token, payments, received_hi, received_lo, worth_hi, worth_lo, unvalued,
    refunded_hi, refunded_lo, refunded_worth_hi, refunded_worth_lo)
  SELECT grain, iif(ms = 0, 0, at / ms * ms), iif(by_endpoint, endpoint, ''), token, 0, 0, 0, 0, 0, 0,
    ${halves('sent', 'refunded')}, ${halves('worth', 'refunded_worth')}
  FROM sent_back CROSS JOIN grains WHERE true GROUP BY 1, 2, 3, 4
  ON CONFLICT (grain, at, endpoint, token) ${setRefunded};
  INSERT INTO payers (payer, at, token, payments, received_hi, received_lo, worth_hi, worth_lo, unvalued,
    refunded_hi, refunded_lo, refunded_worth_hi, refunded_worth_lo)
  SELECT payer, at / 86400000 * 86400000, token, 0, 0, 0, 0, 0, 0,
    ${halves('sent', 'refunded')}, ${halves('worth', 'refunded_worth')}
  FROM sent_back WHERE true GROUP BY 1, 2, 3
  ON CONFLICT (payer, at, token) ${setRefunded};
  DROP TABLE sent_back;
  CREATE TABLE rates (
    feed TEXT NOT NULL,
    at INTEGER NOT NULL,
    source TEXT NOT NULL,
    usdc TEXT,
    native TEXT,
    sol TEXT,
    PRIMARY KEY (feed, at)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX rates_at ON rates (at);
  `

/**
 * Stores each signing of a payout with its time, for the budget. Otherwise a payout that is signed repeatedly would count
 * with all its earlier attempts. Signings before this step count as one, at the last change of the payout.
 */
export const signingsStep = `
  ALTER TABLE dispatches ADD COLUMN failures INTEGER NOT NULL DEFAULT 0;
  CREATE TABLE signings (
    at INTEGER NOT NULL,
    dispatch TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    PRIMARY KEY (at, dispatch, attempt)
  ) STRICT, WITHOUT ROWID;
  INSERT INTO signings SELECT changed_at, id, attempts FROM dispatches WHERE kind = 'payout' AND attempts > 0;
  `
