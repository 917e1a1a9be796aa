package api

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"fmt"
)

// idKind keeps the ids of one kind from being taken for those of another.
type idKind uint64

const (
	operationID idKind = iota
	leaseID
)

// idLength is the length of an id: one cipher block in hexadecimal.
const idLength = 2 * aes.BlockSize

// ids turns sequence numbers into names that cannot be guessed and back, without
// remembering any: a name is the encryption of (sequence, kind) under a key of
// this process. Someone who makes one up has a chance of 2^-64 that it decrypts
// to the right kind.
type ids struct{ block cipher.Block }

func newIDs() (ids, error) {
	var key [16]byte
	rand.Read(key[:]) // cannot fail
	block, err := aes.NewCipher(key[:])
	if err != nil {
		return ids{}, fmt.Errorf("key for ids: %w", err)
	}
	return ids{block}, nil
}

// append writes the name of sequence behind b.
func (i ids) append(b []byte, kind idKind, sequence uint64) []byte {
	var block [aes.BlockSize]byte
	binary.BigEndian.PutUint64(block[:8], sequence)
	binary.BigEndian.PutUint64(block[8:], uint64(kind))
	i.block.Encrypt(block[:], block[:])
	return hex.AppendEncode(b, block[:])
}

// parse returns the sequence number that append was given; false when the name
// is none of this process and kind.
func (i ids) parse(kind idKind, name string) (uint64, bool) {
	if !wellFormed(name) {
		return 0, false
	}
	var block [aes.BlockSize]byte
	if _, err := hex.Decode(block[:], []byte(name)); err != nil {
		return 0, false
	}
	i.block.Decrypt(block[:], block[:])
	return binary.BigEndian.Uint64(block[:8]), binary.BigEndian.Uint64(block[8:]) == uint64(kind)
}

// wellFormed reports whether name could be an id: one operation has one name, so
// upper case is not accepted.
func wellFormed(name string) bool {
	if len(name) != idLength {
		return false
	}
	for i := range len(name) {
		if c := name[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
