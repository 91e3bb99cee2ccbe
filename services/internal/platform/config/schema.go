package config

import (
	"encoding"
	"reflect"
	"slices"
	"strings"
	"time"
)

// field is a struct field that is a key.
type field struct {
	name  string
	index []int
	typ   reflect.Type
}

// fields lists the keys of a struct in order. Embedded structs without a tag,
// or with ",squash", give their keys to the struct around them; other fields
// without a tag are no keys.
func fields(t reflect.Type) []field {
	var list []field
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("config"), ",")
		inline := f.Type.Kind() == reflect.Struct && ((f.Anonymous && name == "") || options == "squash")
		switch {
		case inline:
			for _, inner := range fields(f.Type) {
				inner.index = append([]int{i}, inner.index...)
				list = append(list, inner)
			}
		case f.IsExported() && name != "" && name != "-":
			list = append(list, field{name, []int{i}, f.Type})
		}
	}
	return list
}

func fieldNamed(t reflect.Type, name string) (field, bool) {
	list := fields(t)
	i := slices.IndexFunc(list, func(f field) bool { return f.name == name })
	if i < 0 {
		return field{}, false
	}
	return list[i], true
}

// keyPaths lists every key that a variable or a flag can set, such as
// "crawler.timeout": sections are entered, lists and maps are one key each.
func keyPaths(t reflect.Type) []string {
	var list []string
	for _, f := range fields(t) {
		inner := deref(f.typ)
		if inner.Kind() != reflect.Struct || isScalar(inner) {
			list = append(list, f.name)
			continue
		}
		for _, path := range keyPaths(inner) {
			list = append(list, f.name+"."+path)
		}
	}
	return list
}

// find answers the field of a key path that keyPaths has listed; optional
// sections on the way are made.
func find(v reflect.Value, path string) reflect.Value {
	for name := range strings.SplitSeq(path, ".") {
		if v.Kind() == reflect.Pointer {
			if v.IsNil() {
				v.Set(reflect.New(v.Type().Elem()))
			}
			v = v.Elem()
		}
		f, _ := fieldNamed(v.Type(), name)
		v = v.FieldByIndex(f.index)
	}
	return v
}

func deref(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

var (
	durationType    = reflect.TypeFor[time.Duration]()
	secretType      = reflect.TypeFor[Secret]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// isScalar tells whether one piece of text fills a value of this type.
func isScalar(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.String, reflect.Bool, reflect.Float32, reflect.Float64,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return true
	}
	return reflect.PointerTo(t).Implements(textUnmarshaler)
}

func didYouMean(name string) string {
	if name == "" {
		return ""
	}
	return ", did you mean " + name + "?"
}
