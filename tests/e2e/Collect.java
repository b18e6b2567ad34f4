// SPDX-License-Identifier: LGPL-2.1-or-later

/** Collects its garbage as often as its argument says. */
class Collect {
        public static void main(String[] arguments) {
                for (int i = Integer.parseInt(arguments[0]); i > 0; i--)
                        System.gc();
        }
}
