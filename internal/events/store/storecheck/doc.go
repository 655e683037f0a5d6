// Package storecheck checks a store and builds it anew. Check compares the log with everything that is derived from it; Repair fills a second
// store with what is left of the first, entry by entry under the rules of the store, and puts it into the place of the first.
//
// The package stands above the store, as a rebuilt store has to obey the same rules as any write. It passes through four narrow doors of the store
// and knows nothing else of it: View.Reader and View.Counters (what a state says), store.Broken (a store that is held and read as far as it can
// be), and store.Refill (rows and entries as they were). It takes the rest from below: the shape of every row from layout, lookups from index,
// and from kv the files that the engine cannot read. A relay that serves never needs it.
package storecheck
