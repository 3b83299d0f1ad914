/**
 * The SQLite schema for payables and outgoing transactions.
 *
 * Final payments wait in `ripening` for accrual. `due` is 0, or the time of the next attempt for a postponed payment. A
 * share stores the rate of its accrual. The spending of payers is summed by hour, and the payables by payee and by
 * role, in the transaction of the change. An index of the payees that can be paid at once finds the highest amounts.
 * Money is text, so the longer of two amounts is the larger. Parked payees are found by the end of their parking time.
 *
 * Refunds store their payment and amount, so that the books can subtract them. Two indexes of `dispatches` are for
 * lookups: whether a payment at its registration is being refunded, and the landed amount that the cap counts.
 * `signings` stores each signing of a payout with its time, for the budget. Otherwise a payout that is signed repeatedly
 * would count with all its earlier attempts.
 */
export const payablesSchema = `
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
    voids BLOB,
    failures INTEGER NOT NULL DEFAULT 0,
    payment BLOB
  ) STRICT, WITHOUT ROWID;
  CREATE UNIQUE INDEX dispatches_under_way ON dispatches (lane) WHERE lane <> '' AND state IN ('planned', 'signed');
  CREATE UNIQUE INDEX dispatches_refund ON dispatches (lane) WHERE kind = 'refund' AND state <> 'dropped';
  CREATE INDEX dispatches_lane ON dispatches (lane, at, id) WHERE lane <> '' AND state <> 'dropped';
  CREATE INDEX dispatches_at ON dispatches (at, id);
  CREATE INDEX dispatches_kind ON dispatches (kind, at, id);
  CREATE INDEX dispatches_state ON dispatches (state, at, id);
  CREATE INDEX dispatches_both ON dispatches (kind, state, at, id);
  CREATE UNIQUE INDEX dispatches_voids ON dispatches (voids) WHERE voids IS NOT NULL AND state <> 'dropped';
  CREATE INDEX dispatches_changed ON dispatches (kind, state, changed_at);
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
  CREATE TABLE signings (
    at INTEGER NOT NULL,
    dispatch TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    PRIMARY KEY (at, dispatch, attempt)
  ) STRICT, WITHOUT ROWID;
  `
