// Package bip340 verifies BIP-340 signatures over secp256k1. Everything that it
// is given is public, so nothing takes constant time.
//
// Field, scalars and the group law come from gnark-crypto. What stands here is
// the order of the work: both scalars of sG - eP are split in halves by the
// curve's endomorphism, and the four halves share their doublings.
package bip340
