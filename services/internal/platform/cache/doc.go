// Package cache keeps answers that can be had again: fetched pages, search
// results, robots rules. An entry may vanish at any moment; nothing may depend
// on its being there.
package cache
