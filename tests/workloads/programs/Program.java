// SPDX-License-Identifier: GPL-2.0-or-later
import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.HashMap;

/** Compiled methods, its own and the library's, for so many seconds of CPU time. */
public class Program {
	static int fibonacci(int n) {
		return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
	}

	static int sortAll(int[] list) {
		int[] copy = list.clone();
		Arrays.sort(copy);
		return copy[0];
	}

	static int countWords(String[] words) {
		HashMap<String, Integer> counts = new HashMap<>();
		for (String word : words)
			counts.merge(word, 1, Integer::sum);
		return counts.size();
	}

	public static void main(String[] arguments) {
		var thread = ManagementFactory.getThreadMXBean();
		long end = Long.parseLong(arguments[0]) * 1000000000L, sum = 0;
		int[] list = new int[20000];
		String[] words = new String[20000];
		for (int i = 0; i < 20000; i++) {
			list[i] = i * 7919 % 10007;
			words[i] = "w" + i % 501;
		}
		while (thread.getCurrentThreadCpuTime() < end)
			sum += fibonacci(20) + sortAll(list) + countWords(words);
		System.out.println(sum);
	}
}
