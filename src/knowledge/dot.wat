;; Products of one vector of 16-bit numbers with many of 8-bit ones, 16 numbers at a time. dot.wasm is made of it (build/wasm.ts).
(module
  (memory (export "memory") 1)
  ;; $length is how many numbers a vector has, a multiple of 16. One sum for each of $count vectors goes to $sums.
  (func (export "dot") (param $query i32) (param $vector i32) (param $sums i32) (param $count i32) (param $length i32)
    (local $at i32) (local $end i32) (local $low v128) (local $high v128)
    (block $done
      (loop $vectors
        (br_if $done (i32.eqz (local.get $count)))
        (local.set $low (v128.const i32x4 0 0 0 0))
        (local.set $high (v128.const i32x4 0 0 0 0))
        (local.set $at (local.get $query))
        (local.set $end (i32.add (local.get $vector) (local.get $length)))
        (loop $numbers
          (local.set $low (i32x4.add (local.get $low)
            (i32x4.dot_i16x8_s (v128.load8x8_s (local.get $vector)) (v128.load (local.get $at)))))
          (local.set $high (i32x4.add (local.get $high)
            (i32x4.dot_i16x8_s (v128.load8x8_s offset=8 (local.get $vector)) (v128.load offset=16 (local.get $at)))))
          (local.set $at (i32.add (local.get $at) (i32.const 32)))
          (local.set $vector (i32.add (local.get $vector) (i32.const 16)))
          (br_if $numbers (i32.lt_u (local.get $vector) (local.get $end))))
        (local.set $low (i32x4.add (local.get $low) (local.get $high)))
        (i32.store (local.get $sums)
          (i32.add
            (i32.add (i32x4.extract_lane 0 (local.get $low)) (i32x4.extract_lane 1 (local.get $low)))
            (i32.add (i32x4.extract_lane 2 (local.get $low)) (i32x4.extract_lane 3 (local.get $low)))))
        (local.set $sums (i32.add (local.get $sums) (i32.const 4)))
        (local.set $count (i32.sub (local.get $count) (i32.const 1)))
        (br $vectors)))))
